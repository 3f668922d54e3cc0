// SPDX-License-Identifier: GPL-2.0

//! Entries of system calls: which arguments point to user memory, the layout, the `format` file,
//! and the text of a line.
//!
//! An entry of `sys_enter_*` has the number of the call, then the arguments as words, then a
//! location word (offset, and length in the upper half) for each argument whose user memory is
//! read, then that memory. An entry of `sys_exit_*` has the number and the return value.

use super::values::write_flags;
use super::Out;
use core::fmt;

/// The most bytes of user memory per argument in an entry. The rest is cut.
pub const USER_MAX: usize = 165;
/// Appended to a text that was cut.
pub const MORE: &[u8] = b"...";
/// Memory for one argument: all but the last byte is read, as in C, where one of them not being there
/// means that none is. The text that is made of it, with [`MORE`] and NUL, is one byte shorter.
pub const USER_ROOM: usize = USER_MAX + 1 + MORE.len() + 1;
/// The most arguments of a call whose user memory is read.
pub const USER_ARGS: usize = 3;
/// The most arguments of a call.
pub const ARGS: usize = 6;

/// The offset of the number of the call in an entry, an `int`.
pub const NUMBER: usize = 8;
/// The offset of the arguments in an entry of `sys_enter_*`, and of the return value in an entry of
/// `sys_exit_*`.
pub const WORDS: usize = 16;

/// The arguments of a call whose user memory is read, and how it is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct UserArgs {
    /// One bit for each argument.
    pub mask: u8,
    /// The argument that holds the length, if the memory is read as bytes.
    pub length: Option<u8>,
    /// Whether these bytes are text.
    pub is_text: bool,
}

/// System calls, grouped by the mask of the arguments that are read. An argument is a string unless
/// the call is in [`BYTES`]. The names are those of the functions, for example `umount` for
/// `umount2`.
const STRINGS: &[(u8, &[&str])] = &[
    (
        0b1,
        &[
            "access",
            "acct",
            "chdir",
            "chmod",
            "chown",
            "chroot",
            "creat",
            "delete_module",
            "execve",
            "fsopen",
            "lchown",
            "memfd_create",
            "mkdir",
            "mknod",
            "mq_open",
            "mq_unlink",
            "open",
            "readlink",
            "rmdir",
            "shmdt",
            "statfs",
            "swapoff",
            "swapon",
            "truncate",
            "umount",
            "unlink",
            "utime",
            "utimes",
        ],
    ),
    (
        0b10,
        &[
            "execveat",
            "faccessat",
            "faccessat2",
            "fchmodat",
            "fchmodat2",
            "fchownat",
            "fgetxattr",
            "finit_module",
            "flistxattr",
            "fremovexattr",
            "fsetxattr",
            "fspick",
            "futimesat",
            "inotify_add_watch",
            "mkdirat",
            "mknodat",
            "mount_setattr",
            "name_to_handle_at",
            "newfstatat",
            "open_tree",
            "open_tree_attr",
            "openat",
            "openat2",
            "quotactl",
            "readlinkat",
            "statx",
            "syslog",
            "unlinkat",
            "utimensat",
        ],
    ),
    (0b100, &["fsconfig", "init_module"]),
    (0b1_0000, &["fanotify_mark"]),
    (
        0b11,
        &[
            "add_key",
            "getxattr",
            "lgetxattr",
            "link",
            "listxattr",
            "llistxattr",
            "lremovexattr",
            "lsetxattr",
            "pivot_root",
            "removexattr",
            "rename",
            "request_key",
            "setxattr",
            "symlink",
        ],
    ),
    (0b101, &["symlinkat"]),
    (
        0b1010,
        &[
            "getxattrat",
            "linkat",
            "listxattrat",
            "move_mount",
            "removexattrat",
            "renameat",
            "renameat2",
            "setxattrat",
        ],
    ),
    (0b111, &["mount"]),
];

/// System calls with an argument whose length is in another argument: the two indexes, whether it
/// is text, and the names.
const BYTES: &[(u8, u8, bool, &[&str])] = &[
    (0b10, 2, false, &["write", "pwrite64", "mq_timedsend"]),
    (0b1, 1, true, &["setdomainname", "sethostname"]),
    (0b1_0000, 3, true, &["kexec_file_load"]),
];

impl UserArgs {
    /// The arguments to read for the call with function `name`, which begins with `sys_`.
    pub fn of(name: &[u8]) -> Self {
        let is = |names: &[&str]| {
            name.strip_prefix(b"sys_")
                .is_some_and(|name| names.iter().any(|known| known.as_bytes() == name))
        };
        if let Some(row) = BYTES.iter().find(|row| is(row.3)) {
            return Self {
                mask: row.0,
                length: Some(row.1),
                is_text: row.2,
            };
        }
        let mask = STRINGS.iter().find(|row| is(row.1)).map_or(0, |row| row.0);
        Self {
            mask,
            ..Self::default()
        }
    }

    /// Whether argument `at` is read.
    pub fn has(self, at: usize) -> bool {
        self.mask & 1_u8.checked_shl(at as u32).unwrap_or(0) != 0
    }

    /// The indexes of the arguments that are read, ascending.
    pub fn places(self) -> impl Iterator<Item = usize> {
        (0..ARGS).filter(move |&at| self.has(at))
    }

    /// Whether the bytes are printed as numbers.
    fn is_array(self) -> bool {
        self.length.is_some() && !self.is_text
    }
}

/// Whether the kernel's `isprint()` accepts `byte`.
fn is_print(byte: u8) -> bool {
    matches!(byte, 0x20..=0x7e | 0xa0..)
}

/// Makes a string of the first `length` bytes of `text`, but of at most `limit` bytes. Unprintable
/// bytes become dots. A NUL follows, or [`MORE`] and a NUL if the text was cut. Returns the size
/// with the NUL.
pub fn finish_string(text: &mut [u8; USER_ROOM], length: usize, limit: usize) -> usize {
    let limit = limit.min(USER_MAX);
    for byte in text.iter_mut().take(length) {
        if !is_print(*byte) {
            *byte = b'.';
        }
    }
    let (end, more) = match length > limit {
        true => (limit, MORE),
        false => (length, &b""[..]),
    };
    let behind = text.get_mut(end..).unwrap_or(&mut []);
    for (place, byte) in behind.iter_mut().zip(more.iter().chain(b"\0")) {
        *place = *byte;
    }
    (end + more.len() + 1).min(USER_ROOM)
}

/// The names and types of the arguments, from the call's metadata.
pub trait Names {
    /// The name of the function, which begins with `sys_`.
    fn name(&self) -> &[u8];

    /// The number of arguments, at most [`ARGS`].
    fn count(&self) -> usize;

    /// The name of argument `at`.
    fn argument(&self, at: usize) -> &[u8];

    /// The type of argument `at`.
    fn argument_type(&self, at: usize) -> &[u8];
}

/// The architecture's `O_*` flags that the line of `openat` names, in that order.
pub type OpenFlags = [(u64, &'static str); 16];
/// Indexes in [`OpenFlags`] of `O_TMPFILE` and `O_CREAT`. The first two of the remaining ones are
/// `O_WRONLY` and `O_RDWR`.
const TMPFILE: usize = 0;
const CREAT: usize = 3;

fn is_openat(call: &dyn Names) -> bool {
    call.name() == b"sys_openat"
}

/// Writes the text after `print fmt: ` of `sys_enter_*`.
///
/// # Errors
///
/// Only the errors of `out`.
pub fn write_enter_format(
    out: &mut dyn Out,
    call: &dyn Names,
    user: UserArgs,
    flags: &OpenFlags,
) -> fmt::Result {
    if is_openat(call) {
        return write_openat_format(out, flags);
    }
    let digits = 8;
    out.bytes(b"\"")?;
    for at in 0..call.count() {
        out.bytes(if at == 0 { b"" } else { b", " })?;
        out.bytes(call.argument(at))?;
        write!(out, ": 0x%0{digits}lx")?;
        if user.has(at) {
            out.bytes(if user.is_array() {
                b" (%s)"
            } else {
                b" \\\"%s\\\""
            })?;
        }
    }
    out.bytes(b"\"")?;
    for at in 0..call.count() {
        let name = call.argument(at);
        out.bytes(b", ((unsigned long)(REC->")?;
        out.bytes(name)?;
        out.bytes(b"))")?;
        if user.has(at) {
            let (before, behind) = match user.is_array() {
                true => (&b", __print_dynamic_array(__"[..], &b"_val, 1)"[..]),
                false => (&b", __get_str(__"[..], &b"_val)"[..]),
            };
            out.bytes(before)?;
            out.bytes(name)?;
            out.bytes(behind)?;
        }
    }
    Ok(())
}

fn write_openat_format(out: &mut dyn Out, flags: &OpenFlags) -> fmt::Result {
    out.bytes(
        b"\"dfd: 0x%08lx, filename: 0x%08lx \\\"%s\\\", flags: %s%s, mode: 0%03o\", \
          ((unsigned long)(REC->dfd)), ((unsigned long)(REC->filename)), \
          __get_str(__filename_val), \
          (REC->flags & ~3) && !(REC->flags & 3) ? \"O_RDONLY|\" : \"\",  \
          REC->flags ? __print_flags(REC->flags, \"|\", ",
    )?;
    for (at, (value, name)) in flags.iter().skip(TMPFILE + 1).enumerate() {
        out.bytes(if at == 0 { b"" } else { b", " })?;
        write!(out, "{{ {value:#x}, \"{name}\" }}")?;
    }
    out.bytes(b") : \"O_RDONLY\",  ((unsigned long)(REC->mode))")
}

/// An entry of `sys_enter_*`. Its bytes may have any value.
#[derive(Clone, Copy)]
struct Entry<'a>(&'a [u8]);

impl<'a> Entry<'a> {
    fn argument(self, at: usize) -> u64 {
        let word = self.0.get(WORDS + 8 * at..).and_then(<[u8]>::first_chunk);
        word.map_or(0, |word| u64::from_ne_bytes(*word))
    }

    /// The user memory of the `nth` argument that is read, for a call with `count` arguments.
    fn user(self, count: usize, nth: usize) -> &'a [u8] {
        let at = WORDS + 8 * count + 4 * nth;
        let Some(word) = self.0.get(at..).and_then(<[u8]>::first_chunk) else {
            return &[];
        };
        let word = u32::from_ne_bytes(*word);
        let (start, length) = ((word & 0xffff) as usize, (word >> 16) as usize);
        let rest = self.0.get(start..).unwrap_or(&[]);
        rest.get(..length).unwrap_or(rest)
    }
}

/// `bytes` up to the first NUL.
fn text(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().position(|&byte| byte == 0);
    bytes.get(..end.unwrap_or(bytes.len())).unwrap_or(bytes)
}

/// Writes the line of an entry of `sys_enter_*`. With `verbose`, types are printed, too.
///
/// # Errors
///
/// Only the errors of `out`.
pub fn write_enter(
    out: &mut dyn Out,
    call: &dyn Names,
    user: UserArgs,
    flags: &OpenFlags,
    entry: &[u8],
    verbose: bool,
) -> fmt::Result {
    let entry = Entry(entry);
    let openat = is_openat(call) && !verbose;
    out.bytes(call.name())?;
    out.bytes(b"(")?;
    let mut nth = 0;
    for at in 0..call.count() {
        let value = entry.argument(at);
        out.bytes(if at == 0 { b"" } else { b", " })?;
        if openat && at == 2 {
            write_open_flags(out, value as u32, flags)?;
            let creates = flags[CREAT].0 | flags[TMPFILE].0;
            if value & creates == 0 {
                break;
            }
            continue;
        }
        if verbose {
            out.bytes(call.argument_type(at))?;
            out.bytes(b" ")?;
        }
        out.bytes(call.argument(at))?;
        if openat && at == 3 {
            write!(out, ": 0{:03o}", value as u32)?;
            continue;
        }
        if openat || value < 10 {
            write!(out, ": {value}")?;
        } else {
            write!(out, ": {value:#x}")?;
        }
        if !user.has(at) {
            continue;
        }
        let bytes = entry.user(call.count(), nth);
        nth += 1;
        match user.length.filter(|_| user.is_array()) {
            Some(length) => write_array(out, bytes, entry.argument(length.into()) as i32)?,
            None => {
                out.bytes(b" \"")?;
                out.bytes(text(bytes))?;
                out.bytes(b"\"")?;
            }
        }
    }
    out.bytes(b")\n")
}

/// Writes the flags of `openat`.
fn write_open_flags(out: &mut dyn Out, value: u32, flags: &OpenFlags) -> fmt::Result {
    const MODES: u32 = 3;
    out.bytes(b"flags: ")?;
    if value == 0 {
        return out.bytes(b"O_RDONLY");
    }
    if value & MODES == 0 {
        out.bytes(b"O_RDONLY|")?;
    }
    let names = flags.iter().map(|(bits, name)| (*bits, name.as_bytes()));
    // The value was a signed int, so the upper bits of the rest can all be set.
    let value = i64::from(value as i32) as u64;
    write_flags(out, b"|", value, names)
}

/// Writes bytes in hexadecimal digits, and as text if any of them is printable. `length` is the
/// original length.
fn write_array(out: &mut dyn Out, bytes: &[u8], length: i32) -> fmt::Result {
    let cut = i64::try_from(bytes.len()).unwrap_or(i64::MAX) < i64::from(length);
    let is_shown = |byte: &u8| matches!(byte, 0x20..=0x7e);
    out.bytes(b" (")?;
    for (at, byte) in bytes.iter().enumerate() {
        let separator = if at == 0 { "" } else { ":" };
        write!(out, "{separator}{byte:02x}")?;
    }
    if cut {
        out.bytes(b", ...")?;
    }
    out.bytes(b")")?;
    if !bytes.iter().any(is_shown) {
        return Ok(());
    }
    out.bytes(b" \"")?;
    for byte in bytes {
        let shown = if is_shown(byte) { *byte } else { b'.' };
        out.bytes(&[shown])?;
    }
    out.bytes(if cut { b"\"..." } else { b"\"" })
}

/// Writes the line of an entry of `sys_exit_*`.
///
/// # Errors
///
/// Only the errors of `out`.
pub fn write_exit(out: &mut dyn Out, call: &dyn Names, entry: &[u8]) -> fmt::Result {
    out.bytes(call.name())?;
    writeln!(out, " -> {:#x}", Entry(entry).argument(0))
}

/// The number of the call of an entry.
pub fn number_of(entry: &[u8]) -> Option<i32> {
    let word = entry.get(NUMBER..).and_then(<[u8]>::first_chunk)?;
    Some(i32::from_ne_bytes(*word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::format::symbol::tests::text as written;
    use std::vec;
    use std::vec::Vec;

    struct Call(&'static str, &'static [(&'static str, &'static str)]);

    impl Names for Call {
        fn name(&self) -> &[u8] {
            self.0.as_bytes()
        }

        fn count(&self) -> usize {
            self.1.len()
        }

        fn argument(&self, at: usize) -> &[u8] {
            self.1[at].1.as_bytes()
        }

        fn argument_type(&self, at: usize) -> &[u8] {
            self.1[at].0.as_bytes()
        }
    }

    const FLAGS: OpenFlags = [
        (0o20200000, "O_TMPFILE"),
        (1, "O_WRONLY"),
        (2, "O_RDWR"),
        (0o100, "O_CREAT"),
        (0o200, "O_EXCL"),
        (0o400, "O_NOCTTY"),
        (0o1000, "O_TRUNC"),
        (0o2000, "O_APPEND"),
        (0o4000, "O_NONBLOCK"),
        (0o10000, "O_DSYNC"),
        (0o40000, "O_DIRECT"),
        (0o100000, "O_LARGEFILE"),
        (0o200000, "O_DIRECTORY"),
        (0o400000, "O_NOFOLLOW"),
        (0o1000000, "O_NOATIME"),
        (0o2000000, "O_CLOEXEC"),
    ];
    const OPENAT: Call = Call(
        "sys_openat",
        &[
            ("int", "dfd"),
            ("const char *", "filename"),
            ("int", "flags"),
            ("umode_t", "mode"),
        ],
    );
    const WRITE: Call = Call(
        "sys_write",
        &[
            ("unsigned int", "fd"),
            ("const char *", "buf"),
            ("size_t", "count"),
        ],
    );

    /// An entry with these words and these bytes of user memory.
    fn entry(words: &[u64], user: &[&[u8]]) -> Vec<u8> {
        let mut bytes = vec![0; WORDS];
        words
            .iter()
            .for_each(|word| bytes.extend(word.to_ne_bytes()));
        let mut at = bytes.len() + 4 * user.len();
        for piece in user {
            bytes.extend((at as u32 | (piece.len() as u32) << 16).to_ne_bytes());
            at += piece.len();
        }
        user.iter().for_each(|piece| bytes.extend(*piece));
        bytes
    }

    fn line(call: &Call, words: &[u64], user: &[&[u8]], verbose: bool) -> std::string::String {
        let entry = entry(words, user);
        written(|out| {
            let user = UserArgs::of(call.name());
            write_enter(out, call, user, &FLAGS, &entry, verbose)
        })
    }

    #[test]
    fn arguments_that_are_read() {
        assert_eq!(UserArgs::of(b"sys_getppid"), UserArgs::default());
        assert_eq!(UserArgs::of(b"openat"), UserArgs::default());
        assert_eq!(UserArgs::of(b"sys_mount").places().count(), 3);
        let write = UserArgs::of(b"sys_write");
        assert!(write.has(1) && write.length == Some(2) && write.is_array());
        assert!(!UserArgs::of(b"sys_sethostname").is_array());
        // No call has more string arguments than an entry has room for.
        for (mask, _) in STRINGS {
            assert!(mask.count_ones() as usize <= USER_ARGS);
        }
    }

    #[test]
    fn lines() {
        let get = Call("sys_getppid", &[]);
        assert_eq!(line(&get, &[], &[], false), "sys_getppid()\n");
        assert_eq!(
            line(&WRITE, &[1, 0x7ffe, 3], &[b"ab\n"], false),
            "sys_write(fd: 1, buf: 0x7ffe (61:62:0a) \"ab.\", count: 3)\n"
        );
        assert_eq!(
            line(&WRITE, &[1, 0x7ffe, 9], &[b"\x01\x02"], false),
            "sys_write(fd: 1, buf: 0x7ffe (01:02, ...), count: 9)\n"
        );
        assert_eq!(
            line(&WRITE, &[1, 0x7ffe, 9], &[b"a"], true),
            "sys_write(unsigned int fd: 1, const char * buf: 0x7ffe (61, ...) \"a\"..., \
             size_t count: 9)\n"
        );
    }

    #[test]
    fn lines_of_openat() {
        let shown = |flags, mode| line(&OPENAT, &[7, 500, flags, mode], &[b"/etc\0"], false);
        assert_eq!(
            shown(0o2000000, 0),
            "sys_openat(dfd: 7, filename: 500 \"/etc\", flags: O_RDONLY|O_CLOEXEC)\n"
        );
        assert_eq!(
            shown(0, 0),
            "sys_openat(dfd: 7, filename: 500 \"/etc\", flags: O_RDONLY)\n"
        );
        assert_eq!(
            shown(0o101, 0o644),
            "sys_openat(dfd: 7, filename: 500 \"/etc\", flags: O_WRONLY|O_CREAT, mode: 0644)\n"
        );
        assert_eq!(
            line(&OPENAT, &[7, 500, 0, 0], &[b"/etc\0"], true),
            "sys_openat(int dfd: 7, const char * filename: 0x1f4 \"/etc\", int flags: 0, \
             umode_t mode: 0)\n"
        );
    }

    #[test]
    fn entries_that_are_cut_off_or_wrong() {
        let whole = entry(&[1, 2, 3], &[b"abc"]);
        for length in 0..whole.len() {
            written(|out| {
                let user = UserArgs::of(b"sys_write");
                write_enter(out, &WRITE, user, &FLAGS, &whole[..length], false)
            });
        }
        let mut wrong = whole.clone();
        wrong[WORDS + 24..WORDS + 28].fill(0xff);
        let user = UserArgs::of(b"sys_write");
        written(|out| write_enter(out, &WRITE, user, &FLAGS, &wrong, false));
    }

    #[test]
    fn result() {
        let entry = entry(&[-2_i64 as u64], &[]);
        assert_eq!(
            written(|out| write_exit(out, &WRITE, &entry)),
            "sys_write -> 0xfffffffffffffffe\n"
        );
    }

    #[test]
    fn formats() {
        let format = |call: &Call| {
            written(|out| write_enter_format(out, call, UserArgs::of(call.name()), &FLAGS))
        };
        assert_eq!(format(&Call("sys_getppid", &[])), "\"\"");
        assert_eq!(
            format(&WRITE),
            "\"fd: 0x%08lx, buf: 0x%08lx (%s), count: 0x%08lx\", ((unsigned long)(REC->fd)), \
             ((unsigned long)(REC->buf)), __print_dynamic_array(__buf_val, 1), \
             ((unsigned long)(REC->count))"
        );
        assert_eq!(
            format(&Call("sys_chdir", &[("const char *", "filename")])),
            "\"filename: 0x%08lx \\\"%s\\\"\", ((unsigned long)(REC->filename)), \
             __get_str(__filename_val)"
        );
        let openat = format(&OPENAT);
        assert!(openat.starts_with("\"dfd: 0x%08lx, filename: 0x%08lx \\\"%s\\\", flags: %s%s,"));
        assert!(openat.ends_with(
            "{ 0x80000, \"O_CLOEXEC\" }) : \"O_RDONLY\",  ((unsigned long)(REC->mode))"
        ));
    }

    #[test]
    fn strings() {
        let finish = |text: &[u8], limit| {
            let mut room = [0; USER_ROOM];
            room[..text.len()].copy_from_slice(text);
            let length = finish_string(&mut room, text.len(), limit);
            room[..length].to_vec()
        };
        assert_eq!(finish(b"", 63), b"\0");
        assert_eq!(finish(b"a\tb", 63), b"a.b\0");
        assert_eq!(finish(b"abcdef", 3), b"abc...\0");
        assert_eq!(finish(b"abc", 3), b"abc\0");
        assert_eq!(finish(&[b'x'; USER_ROOM], 1000).len(), USER_MAX + 4);
    }
}
