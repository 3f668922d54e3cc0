// SPDX-License-Identifier: GPL-2.0

//! What happens to requests of block devices: the entry of the tracer `blk`.
//!
//! C header: `include/uapi/linux/blktrace_api.h`. An entry is a `struct blk_io_trace2` whose first
//! eight bytes are the common fields.

use super::{Entry, Show};
use crate::core::format::environment::{Error, Line};
use crate::core::format::Out;
use crate::core::parse::options::Flag;
use core::fmt;

/// A step of a request, or a note. The id of a cgroup may follow, and data that depend on the action.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Entry)]
#[entry(name = "blk", tail(pdu: [u8] as "char"), print = "")]
#[repr(C)]
pub struct Blk {
    /// Not used: the ring buffer has the time.
    pub _time: u64,
    /// The first sector.
    pub sector: u64,
    /// The length of the transfer.
    pub bytes: u32,
    /// The task.
    pub pid: u32,
    /// The action in the lowest 16 bits, its categories above.
    pub action: u64,
    /// The number of the device.
    pub device: u32,
    /// The CPU.
    pub cpu: u32,
    /// The error at the completion.
    pub error: u16,
    /// The length of what follows.
    pub pdu_len: u16,
    /// Fills `struct blk_io_trace2`.
    pub _pad: [u32; 3],
}

/// Categories of actions, as bits of [`Blk::categories`].
mod category {
    pub(super) const WRITE: u64 = 1 << 1;
    pub(super) const FLUSH: u64 = 1 << 2;
    pub(super) const SYNC: u64 = 1 << 3;
    /// Commands that are passed through to the device.
    pub(super) const PC: u64 = 1 << 9;
    pub(super) const NOTIFY: u64 = 1 << 10;
    pub(super) const AHEAD: u64 = 1 << 11;
    pub(super) const META: u64 = 1 << 12;
    pub(super) const DISCARD: u64 = 1 << 13;
    pub(super) const FUA: u64 = 1 << 15;
    pub(super) const WRITE_ZEROES: u64 = 1 << 22;
}

/// The bit of an action that the id of a cgroup follows.
const CGROUP: u64 = 1 << 8;
/// The note that is a text.
const MESSAGE: u64 = category::NOTIFY << 16 | 2;

/// What is printed after an action.
#[derive(Clone, Copy)]
enum Rest {
    Sectors,
    SectorsAndError,
    Task,
    TaskAndCount,
    SectorAndCount,
    Source,
}

/// The actions that have a name: the short one, the long one.
const ACTIONS: [(u64, &str, &str, Rest); 14] = [
    (1, "Q", "queue", Rest::Sectors),
    (2, "M", "backmerge", Rest::Sectors),
    (3, "F", "frontmerge", Rest::Sectors),
    (4, "G", "getrq", Rest::Sectors),
    (5, "S", "sleeprq", Rest::Sectors),
    (6, "R", "requeue", Rest::SectorsAndError),
    (7, "D", "issue", Rest::Sectors),
    (8, "C", "complete", Rest::SectorsAndError),
    (9, "P", "plug", Rest::Task),
    (10, "U", "unplug_io", Rest::TaskAndCount),
    (11, "UT", "unplug_timer", Rest::TaskAndCount),
    (12, "I", "insert", Rest::Sectors),
    (13, "X", "split", Rest::SectorAndCount),
    (15, "A", "remap", Rest::Source),
];

/// A device number as `major,minor`, in C's widths.
struct Device(u32);

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:3},{:<3}", self.0 >> 20, self.0 & 0xf_ffff)
    }
}

impl Blk {
    /// Whether this is a note, and no step of a request.
    pub fn is_note(&self) -> bool {
        self.categories() & category::NOTIFY != 0
    }

    fn categories(&self) -> u64 {
        self.action >> 16
    }

    /// The id of the cgroup, and the data after it; fewer if the record is too short.
    fn parts<'a>(&self, record: &'a [u8]) -> (Option<u64>, &'a [u8]) {
        let tail = Self::tail(record);
        let tail = tail.get(..self.pdu_len.into()).unwrap_or(tail);
        if self.action & CGROUP == 0 {
            return (None, tail);
        }
        match tail.split_first_chunk() {
            Some((id, rest)) => (Some(u64::from_ne_bytes(*id)), rest),
            None => (Some(0), &[]),
        }
    }

    /// What the request does, and how, in letters.
    fn write_letters(&self, out: &mut dyn Out) -> fmt::Result {
        let has = |bit: u64| self.categories() & bit != 0;
        let mut letters = [b' '; 8];
        let mut used = 0;
        let mut add = |text: &[u8]| {
            for letter in text {
                if let Some(place) = letters.get_mut(used) {
                    *place = *letter;
                    used = used.wrapping_add(1);
                }
            }
        };
        if self.action & !CGROUP == MESSAGE {
            add(b"N");
        } else {
            if has(category::FLUSH) {
                add(b"F");
            }
            let operation: &[u8] = match () {
                () if has(category::DISCARD) => b"D",
                () if has(category::WRITE_ZEROES) => b"WZ",
                () if has(category::WRITE) => b"W",
                () if self.bytes != 0 => b"R",
                () => b"N",
            };
            add(operation);
            for (bit, letter) in [
                (category::FUA, b"F"),
                (category::AHEAD, b"A"),
                (category::SYNC, b"S"),
                (category::META, b"M"),
            ] {
                if has(bit) {
                    add(letter);
                }
            }
        }
        out.right(letters.get(..used).unwrap_or(&letters), 3)
    }

    /// The columns before the action: the device, and the cgroup if there is one.
    fn write_place(&self, cgroup: Option<u64>, line: &Line<'_>, out: &mut dyn Out) -> fmt::Result {
        write!(out, "{} ", Device(self.device))?;
        let Some(id) = cgroup else {
            return Ok(());
        };
        if !line.env.tasks.write_cgroup(id, out)? {
            write!(out, "{:x},{:x}", id as u32, id >> 32)?;
        }
        out.bytes(b" ")
    }

    /// The columns before the action in the format of blkparse.
    fn write_classic_place(&self, line: &Line<'_>, cpu: u32, out: &mut dyn Out) -> fmt::Result {
        const SECOND: u64 = 1_000_000_000;
        let (seconds, rest) = (line.ts / SECOND, line.ts % SECOND);
        let pid = super::Common::parse(line.record).map_or(0, |common| common.pid) as u32;
        write!(out, "{} {cpu:2} ", Device(self.device))?;
        write!(out, "{seconds:5}.{rest:09} {pid:5} ")
    }

    /// Writes the action and what follows it. `place` writes the columns before it.
    fn write(
        &self,
        line: &Line<'_>,
        data: &[u8],
        out: &mut dyn Out,
        place: impl FnOnce(&mut dyn Out) -> fmt::Result,
    ) -> fmt::Result {
        let long = line.env.set.has(Flag::Verbose);
        let action = self.action & 0xffff & !CGROUP;
        let known = ACTIONS.iter().find(|known| known.0 == action);
        let is_message = self.action & !CGROUP == MESSAGE;
        let name = match known {
            _ if is_message && long => "message",
            _ if is_message => "m",
            Some((_, _, name, _)) if long => name,
            Some((_, name, _, _)) => name,
            None => return writeln!(out, "Unknown action {action:x}"),
        };
        place(out)?;
        write!(out, "{name:>2} ")?;
        self.write_letters(out)?;
        out.bytes(b" ")?;
        match known {
            Some((_, _, _, rest)) if !is_message => self.write_rest(*rest, line, data, out),
            _ => {
                out.bytes(data)?;
                out.bytes(b"\n")
            }
        }
    }

    fn write_rest(
        &self,
        rest: Rest,
        line: &Line<'_>,
        data: &[u8],
        out: &mut dyn Out,
    ) -> fmt::Result {
        let Self {
            sector,
            bytes,
            error,
            ..
        } = *self;
        let sectors = bytes >> 9;
        let is_passed = self.categories() & category::PC != 0;
        match rest {
            Rest::Sectors if is_passed => {
                write!(out, "{bytes} ")?;
                write_data(data, out)?;
            }
            Rest::SectorsAndError if is_passed => write_data(data, out)?,
            Rest::Sectors | Rest::SectorsAndError if sectors != 0 => {
                write!(out, "{sector} + {sectors} ")?;
            }
            Rest::SectorsAndError => write!(out, "{sector} ")?,
            Rest::SectorAndCount => write!(out, "{sector} / {} ", number(data))?,
            Rest::Source => return self.write_source(data, out),
            Rest::Sectors | Rest::Task | Rest::TaskAndCount => {}
        }
        match rest {
            Rest::SectorsAndError => return writeln!(out, "[{error}]"),
            _ => write_task(line, out)?,
        }
        match rest {
            Rest::TaskAndCount => writeln!(out, " {}", number(data)),
            _ => out.bytes(b"\n"),
        }
    }

    /// Writes where the request was before it was remapped.
    fn write_source(&self, data: &[u8], out: &mut dyn Out) -> fmt::Result {
        let device = data
            .first_chunk()
            .map_or(0, |word| u32::from_be_bytes(*word));
        write!(out, "{} + {} ", self.sector, self.bytes >> 9)?;
        write!(out, "<- ({},{}) ", device >> 20, device & 0xf_ffff)?;
        writeln!(out, "{}", number(data.get(8..).unwrap_or(&[])))
    }

    /// Writes the line in the format of blkparse, for the option `blk_classic`.
    ///
    /// # Errors
    ///
    /// Only the errors of `out`.
    pub fn write_classic(&self, line: &Line<'_>, cpu: u32, out: &mut dyn Out) -> fmt::Result {
        let (_, data) = self.parts(line.record);
        self.write(line, data, out, |out| {
            self.write_classic_place(line, cpu, out)
        })
    }
}

/// The number that the data of an action begin with.
fn number(data: &[u8]) -> u64 {
    data.first_chunk()
        .map_or(0, |word| u64::from_be_bytes(*word))
}

fn write_task(line: &Line<'_>, out: &mut dyn Out) -> fmt::Result {
    let pid = super::Common::parse(line.record).map_or(0, |common| common.pid);
    out.bytes(b"[")?;
    line.env.tasks.write_name(pid, out)?;
    out.bytes(b"]")
}

/// Writes the bytes of a command. One of the zeros at the end stands for all of them.
fn write_data(data: &[u8], out: &mut dyn Out) -> fmt::Result {
    if data.is_empty() {
        return Ok(());
    }
    let end = data
        .iter()
        .rposition(|byte| *byte != 0)
        .map_or(0, |last| last.wrapping_add(1));
    let cut = end.saturating_add(1) < data.len();
    let shown = if cut { end } else { data.len() };
    out.bytes(b"(")?;
    for (at, byte) in data.iter().enumerate().take(shown.saturating_add(1)) {
        write!(out, "{}{byte:02x}", if at == 0 { "" } else { " " })?;
    }
    out.bytes(if cut { b" ..) " } else { b") " })
}

impl Show for Blk {
    fn normal(&self, line: &Line<'_>, out: &mut dyn Out) -> Result<(), Error> {
        let (cgroup, data) = self.parts(line.record);
        Ok(self.write(line, data, out, |out| self.write_place(cgroup, line, out))?)
    }

    /// A `struct blk_io_trace`, which blkparse reads, with the data.
    fn bin(&self, line: &Line<'_>, out: &mut dyn Out) -> Result<(), Error> {
        const MAGIC: u32 = 0x6561_7407;
        let tail = Self::tail(line.record);
        let tail = tail.get(..self.pdu_len.into()).unwrap_or(tail);
        for word in [MAGIC, 0] {
            out.bytes(&word.to_ne_bytes())?;
        }
        out.bytes(&line.ts.to_ne_bytes())?;
        out.bytes(&self.sector.to_ne_bytes())?;
        let action = self.action as u32;
        for word in [self.bytes, action, self.pid, self.device, self.cpu] {
            out.bytes(&word.to_ne_bytes())?;
        }
        out.bytes(&self.error.to_ne_bytes())?;
        out.bytes(&(tail.len() as u16).to_ne_bytes())?;
        Ok(out.bytes(tail)?)
    }
}

#[cfg(all(test, not(CONFIG_RTRACE)))]
mod tests {
    use super::super::super::environment::Env;
    use super::super::super::line::Unit;
    use super::super::super::print::tests::Numbered;
    use super::super::super::symbol::tests::{text, Names};
    use super::super::{Common, Words};
    use super::*;
    use crate::core::parse::options::Set;
    use std::string::String;
    use std::vec::Vec;

    const READ: u64 = 1 << 16;
    const WRITE: u64 = category::WRITE << 16;

    fn record(entry: Blk, tail: &[u8]) -> Vec<u8> {
        let mut bytes = std::vec![0; Blk::SIZE];
        let header = Common {
            id: Blk::ID,
            pid: 93,
            ..Common::default()
        };
        let entry = Blk {
            device: 253 << 20 | 1,
            pdu_len: tail.len() as u16,
            ..entry
        };
        entry.words(header.word()).store(&mut bytes);
        bytes.extend(tail);
        bytes
    }

    fn step(action: u64) -> Blk {
        Blk {
            sector: 2048,
            bytes: 4096,
            action,
            ..Blk::default()
        }
    }

    fn shown(record: &[u8], set: Set, classic: bool) -> String {
        let env = Env {
            set,
            symbols: &Names,
            tasks: &Numbered,
            strings: None,
            unit: Unit::Nanoseconds,
        };
        let line = Line {
            record,
            ts: 12_000_000_345,
            env: &env,
        };
        let entry = Blk::parse(record).unwrap();
        text(|out| match classic {
            true => entry.write_classic(&line, 1, out),
            false => entry.normal(&line, out).map_err(|_| fmt::Error),
        })
    }

    fn show(entry: Blk, tail: &[u8]) -> String {
        shown(&record(entry, tail), Set::DEFAULT, false)
    }

    #[test]
    fn steps() {
        assert_eq!(
            show(step(READ | 1), b""),
            "253,1    Q   R 2048 + 8 [task93]\n"
        );
        let sync = category::SYNC << 16;
        assert_eq!(
            show(step(WRITE | sync | 7), b""),
            "253,1    D  WS 2048 + 8 [task93]\n"
        );
        let failed = Blk {
            error: 65531,
            ..step(WRITE | 8)
        };
        assert_eq!(show(failed, b""), "253,1    C   W 2048 + 8 [65531]\n");
        let empty = Blk {
            bytes: 0,
            ..step(8 | category::FLUSH << 16)
        };
        assert_eq!(show(empty, b""), "253,1    C  FN 2048 [0]\n");
        let empty = Blk {
            bytes: 0,
            ..step(9)
        };
        assert_eq!(show(empty, b""), "253,1    P   N [task93]\n");
        assert_eq!(
            show(
                Blk {
                    action: 10,
                    ..empty
                },
                &3u64.to_be_bytes()
            ),
            "253,1    U   N [task93] 3\n"
        );
        assert_eq!(
            show(step(READ | 13), &2056u64.to_be_bytes()),
            "253,1    X   R 2048 / 2056 [task93]\n"
        );
        let source = [
            &(8u32 << 20 | 2).to_be_bytes()[..],
            &[0; 4],
            &77u64.to_be_bytes(),
        ];
        assert_eq!(
            show(step(READ | 15), &source.concat()),
            "253,1    A   R 2048 + 8 <- (8,2) 77\n"
        );
        let zeroes = (category::WRITE_ZEROES | category::WRITE | category::FUA) << 16;
        assert_eq!(
            show(step(zeroes | 1), b""),
            "253,1    Q WZF 2048 + 8 [task93]\n"
        );
        assert_eq!(show(step(14), b""), "Unknown action e\n");
        assert_eq!(show(step(READ), b""), "Unknown action 0\n");
    }

    #[test]
    fn commands() {
        let command = |data: &[u8]| show(step(READ | category::PC << 16 | 1), data);
        assert_eq!(command(b""), "253,1    Q   R 4096 [task93]\n");
        assert_eq!(
            command(&[0x12, 0, 0x34]),
            "253,1    Q   R 4096 (12 00 34) [task93]\n"
        );
        assert_eq!(
            command(&[0x12, 0]),
            "253,1    Q   R 4096 (12 00) [task93]\n"
        );
        assert_eq!(
            command(&[0x12, 0, 0, 0]),
            "253,1    Q   R 4096 (12 00 ..) [task93]\n"
        );
        assert_eq!(
            command(&[0, 0, 0]),
            "253,1    Q   R 4096 (00 ..) [task93]\n"
        );
        let done = show(step(READ | category::PC << 16 | 8), &[1, 2]);
        assert_eq!(done, "253,1    C   R (01 02) [0]\n");
    }

    #[test]
    fn notes_and_cgroups() {
        let note = step(MESSAGE);
        assert_eq!(show(note, b"a note"), "253,1    m   N a note\n");
        let of_group = Blk {
            action: MESSAGE | CGROUP,
            ..note
        };
        let tail = [&7u64.to_ne_bytes()[..], b"a note"].concat();
        assert_eq!(show(of_group, &tail), "253,1   7,0  m   N a note\n");
        let tail = [&1u64.to_ne_bytes()[..], b"a note"].concat();
        assert_eq!(show(of_group, &tail), "253,1   /group  m   N a note\n");
        // A record that is cut.
        assert_eq!(show(of_group, b"abc"), "253,1   0,0  m   N \n");
        assert_eq!(
            show(step(READ | CGROUP | 1), &(5u64 << 32 | 0xab).to_ne_bytes()),
            "253,1   ab,5  Q   R 2048 + 8 [task93]\n"
        );
    }

    #[test]
    fn forms() {
        let record = record(step(READ | CGROUP | 1), &7u64.to_ne_bytes());
        let verbose = Set::DEFAULT.with(Flag::Verbose, true);
        assert_eq!(
            shown(&record, verbose, false),
            "253,1   7,0 queue   R 2048 + 8 [task93]\n"
        );
        assert_eq!(
            shown(&record, Set::DEFAULT, true),
            "253,1    1    12.000000345    93  Q   R 2048 + 8 [task93]\n"
        );
    }
}
