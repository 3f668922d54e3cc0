// SPDX-License-Identifier: GPL-2.0

//! Branch profiles: the rows of `trace_stat/branch_annotated` and `branch_all`, and the entries of
//! the branch tracer.
//!
//! A *site* is one `likely()`, `unlikely()` or `if` in the kernel's C code. For an annotated site
//! the profile counts how often the annotation was right. For any other site it counts how often
//! the branch was taken.

#[cfg(any(CONFIG_BRANCH_TRACER, not(CONFIG_RTRACE)))]
use super::entry::{Branch, BranchSite};
use super::Out;
use core::cmp::Ordering;
use core::fmt;

/// The titles above the rows of `branch_annotated`.
pub const ANNOTATED_TITLES: &[u8] =
    b" correct incorrect  %        Function                  File              Line\n \
    ------- ---------  -        --------                  ----              ----\n";

/// The titles above the rows of `branch_all`.
#[cfg(any(CONFIG_PROFILE_ALL_BRANCHES, not(CONFIG_RTRACE)))]
pub const ALL_TITLES: &[u8] =
    b"   miss      hit    %        Function                  File              Line\n \
    ------- ---------  -        --------                  ----              ----\n";

/// The place of a branch in the source.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The name of the function.
    pub function: &'a [u8],
    /// The name of the file, with the compiler's path.
    pub file: &'a [u8],
    /// The line.
    pub line: u32,
}

/// The counters of a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// How often the annotation was right, or how often an `if` was not taken.
    pub correct: u64,
    /// How often the annotation was wrong, or how often an `if` was taken.
    pub incorrect: u64,
}

impl Counts {
    /// The share of `incorrect` in percent, rounded down. -1 if both are 0. Wraps as in C.
    fn percent(self) -> i64 {
        let Self { correct, incorrect } = self;
        match (correct, incorrect) {
            (0, 0) => -1,
            (0, _) => 100,
            _ => {
                let sum = correct.wrapping_add(incorrect);
                incorrect.wrapping_mul(100).checked_div(sum).unwrap_or(0) as i64
            }
        }
    }

    /// The order of `branch_annotated`: the highest share of wrong first, then the most wrong, then
    /// the fewest right.
    pub fn worst_first(self, other: Self) -> Ordering {
        let key = |counts: Self| (counts.percent(), counts.incorrect);
        key(other)
            .cmp(&key(self))
            .then(self.correct.cmp(&other.correct))
    }
}

impl<'a> Place<'a> {
    /// The name of the file without its path.
    fn base_name(&self) -> &'a [u8] {
        self.file.rsplit(|&c| c == b'/').next().unwrap_or(self.file)
    }

    /// Writes a row. `constant` is how often the compiler knew the condition; it is printed if it
    /// is not 0.
    ///
    /// # Errors
    ///
    /// Only the errors of `out`.
    pub fn write_row(&self, out: &mut dyn Out, counts: Counts, constant: u64) -> fmt::Result {
        let Counts { correct, incorrect } = counts;
        match constant {
            0 => write!(out, "{correct:8} {incorrect:8} ")?,
            _ => {
                let taken = constant.ilog10() as usize + "/0".len();
                write!(
                    out,
                    "{correct:8}/{constant} {incorrect:width$} ",
                    width = 8usize.saturating_sub(taken)
                )?;
            }
        }
        match counts.percent() {
            ..0 => out.bytes(b"  X ")?,
            percent => write!(out, "{percent:3} ")?,
        }
        left(out, self.function, 30)?;
        out.bytes(b" ")?;
        left(out, self.base_name(), 20)?;
        // C prints the line as a signed number.
        writeln!(out, " {}", self.line as i32)
    }

    /// The data of this place for [`Branch`] entries. Names that are too long are cut.
    #[cfg(any(CONFIG_BRANCH_TRACER, not(CONFIG_RTRACE)))]
    pub fn entries(&self) -> BranchSite {
        BranchSite::of(Branch {
            line: self.line,
            func: short(self.function),
            file: short(self.base_name()),
            ..Branch::default()
        })
    }
}

/// As much of `name` as fits before a NUL.
#[cfg(any(CONFIG_BRANCH_TRACER, not(CONFIG_RTRACE)))]
fn short<const N: usize>(name: &[u8]) -> [u8; N] {
    let mut room = [0; N];
    for (place, byte) in room.iter_mut().take(N.saturating_sub(1)).zip(name) {
        *place = *byte;
    }
    room
}

/// Writes the first `width` bytes of `text`, padded with blanks to `width`.
fn left(out: &mut dyn Out, text: &[u8], width: usize) -> fmt::Result {
    out.bytes(text.get(..width).unwrap_or(text))?;
    (text.len()..width).try_for_each(|_| out.bytes(b" "))
}

/// The column titles of the branch tracer in `trace`.
#[cfg(any(CONFIG_BRANCH_TRACER, not(CONFIG_RTRACE)))]
pub const TRACE_TITLES: &[u8] =
    b"#           TASK-PID    CPU#    TIMESTAMP  CORRECT  FUNC:FILE:LINE\n\
    #              | |       |          |         |       |\n";

#[cfg(all(test, not(CONFIG_RTRACE)))]
mod tests {
    use super::super::entry::{Entry, Words};
    use super::super::symbol::tests::text;
    use super::*;
    use std::string::String;
    use std::vec::Vec;

    const PLACE: Place<'static> = Place {
        function: b"vfs_read",
        file: b"fs/read_write.c",
        line: 567,
    };

    fn row(correct: u64, incorrect: u64, constant: u64) -> String {
        text(|out| PLACE.write_row(out, Counts { correct, incorrect }, constant))
    }

    #[test]
    fn rows() {
        assert_eq!(
            row(0, 0, 0),
            "       0        0   X vfs_read                       read_write.c         567\n"
        );
        assert_eq!(
            row(3, 1, 0),
            "       3        1  25 vfs_read                       read_write.c         567\n"
        );
        assert_eq!(
            row(0, 7, 0),
            "       0        7 100 vfs_read                       read_write.c         567\n"
        );
        assert_eq!(
            row(123456789, 0, 0),
            "123456789        0   0 vfs_read                       read_write.c         567\n"
        );
        assert_eq!(
            row(12, 0, 12),
            "      12/12     0   0 vfs_read                       read_write.c         567\n"
        );
        assert_eq!(
            row(9, 0, 1234567),
            "       9/1234567 0   0 vfs_read                       read_write.c         567\n"
        );
        assert_eq!(
            row(9, 5, 123456789),
            "       9/123456789 5  35 vfs_read                       read_write.c         567\n"
        );
    }

    #[test]
    fn long_and_odd_names() {
        let show = |function: &'static [u8], file: &'static [u8]| {
            text(|out| {
                Place {
                    function,
                    file,
                    line: 1,
                }
                .write_row(
                    out,
                    Counts {
                        correct: 1,
                        incorrect: 0,
                    },
                    0,
                )
            })
        };
        assert_eq!(
            show(
                b"a_function_of_more_than_thirty_letters",
                b"./include/linux/a_file_of_more_than_20.h"
            ),
            "       1        0   0 a_function_of_more_than_thirty a_file_of_more_than_ 1\n"
        );
        assert_eq!(show(b"f", b"plain.c"), show(b"f", b"/plain.c"));
        assert!(
            show(b"f", b"dir/").contains("f                                                   1\n")
        );
        let wrapped = text(|out| {
            Place {
                line: u32::MAX,
                ..PLACE
            }
            .write_row(
                out,
                Counts {
                    correct: 1,
                    incorrect: 0,
                },
                0,
            )
        });
        assert!(wrapped.ends_with(" -1\n"));
    }

    #[test]
    fn shares() {
        let percent = |correct, incorrect| Counts { correct, incorrect }.percent();
        assert_eq!((percent(0, 0), percent(0, 1), percent(1, 0)), (-1, 100, 0));
        assert_eq!(
            (percent(2, 1), percent(1, 99), percent(u64::MAX, 1)),
            (33, 99, 0)
        );
    }

    #[test]
    fn order() {
        let counts = |(correct, incorrect)| Counts { correct, incorrect };
        let want = [
            (0, 9),
            (0, 1),
            (1, 3),
            (10, 10),
            (1, 1),
            (2, 1),
            (5, 0),
            (6, 0),
            (0, 0),
        ];
        let mut rows: Vec<_> = want.iter().rev().copied().map(counts).collect();
        rows.sort_by(|a, b| a.worst_first(*b));
        assert_eq!(rows, want.map(counts));
    }

    #[test]
    fn entries() {
        let entry = |place: Place<'_>, correct, constant| {
            let mut record = [0; Branch::SIZE];
            let words = place.entries().words(9, correct, constant);
            words.store(&mut record);
            Branch::parse(&record).unwrap()
        };
        let short = entry(PLACE, true, 0x1ff);
        assert_eq!((short.line, short.correct, short.constant), (567, 1, 0xff));
        assert!(short.func.starts_with(b"vfs_read\0") && short.file.starts_with(b"read_write.c\0"));
        let long = Place {
            function: &[b'f'; 40],
            file: &[b'g'; 40],
            line: 1,
        };
        let long = entry(long, false, 0x100);
        assert_eq!(long.func[..], [&[b'f'; 30][..], b"\0"].concat());
        assert_eq!(long.file[..], [&[b'g'; 20][..], b"\0"].concat());
        assert_eq!((long.correct, long.constant), (0, 0));
    }

    #[test]
    fn titles() {
        for titles in [ANNOTATED_TITLES, ALL_TITLES] {
            let lines: Vec<_> = titles.split(|&c| c == b'\n').collect();
            assert!(lines[1] == b" ------- ---------  -        --------                  ----              ----" && lines.len() == 3);
        }
    }
}
