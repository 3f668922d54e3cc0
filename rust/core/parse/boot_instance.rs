// SPDX-License-Identifier: GPL-2.0

//! Parses `trace_instance=`: `NAME[^FLAG...][@WHERE][,EVENT...]`, where the flags may also stand behind
//! WHERE. WHERE is the name of memory that `reserve_mem=` has reserved, or `ADDRESS:SIZE`. Also reads and writes the module list for the
//! next kernel.

use super::number;

/// One instance to create at boot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BootInstance<'a> {
    /// The name.
    pub name: &'a [u8],
    /// The `OLD` of `NAME=OLD`: an instance whose events are copied.
    pub copy_of: Option<&'a [u8]>,
    /// Whether recording starts turned off.
    pub traceoff: bool,
    /// Whether it is the destination of `trace_printk()`.
    pub printk: bool,
    /// The memory of its buffer.
    pub memory: Option<Where<'a>>,
    flags: &'a [u8],
    events: &'a [u8],
}

/// The memory of a buffer that outlives the kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Where<'a> {
    /// Reserved memory with this name.
    Name(&'a [u8]),
    /// At a physical address.
    Address {
        /// The address of the first byte.
        start: u64,
        /// The size in bytes.
        size: u64,
    },
    /// The address is invalid.
    NoAddress,
    /// No size follows the address.
    NoSize,
    /// The size is invalid.
    BadSize,
}

impl<'a> BootInstance<'a> {
    /// Parses the text of one parameter.
    pub fn parse(text: &'a [u8]) -> Self {
        let (head, events) = split(text, b',');
        let (head, copy_of) = split(head, b'=');
        let (front, memory) = split(head, b'@');
        let (name, flags) = split(front, b'^');
        let (memory, flags) = match (memory, flags) {
            (Some(memory), None) => {
                let (memory, flags) = split(memory, b'^');
                (Some(memory), flags)
            }
            both => both,
        };
        let flags = flags.unwrap_or(b"");
        let has = |names: &[&[u8]]| {
            flags
                .split(|byte| *byte == b'^')
                .any(|flag| names.contains(&flag))
        };
        Self {
            name,
            copy_of,
            traceoff: has(&[b"traceoff"]),
            printk: has(&[b"printk", b"traceprintk", b"trace_printk"]),
            memory: memory.map(Where::parse),
            flags,
            events: events.unwrap_or(b""),
        }
    }

    /// The unknown flags.
    pub fn unknown_flags(&self) -> impl Iterator<Item = &'a [u8]> {
        const KNOWN: [&[u8]; 4] = [b"traceoff", b"printk", b"traceprintk", b"trace_printk"];
        let flags = self
            .flags
            .split(|byte| *byte == b'^')
            .filter(|_| !self.flags.is_empty());
        let flags: core::iter::Filter<_, fn(&&'a [u8]) -> bool> =
            flags.filter(|flag| !KNOWN.contains(flag));
        flags
    }

    /// The events to enable.
    pub fn events(&self) -> impl Iterator<Item = &'a [u8]> {
        self.events
            .split(|byte| *byte == b',')
            .filter(|event| !event.is_empty())
    }
}

impl<'a> Where<'a> {
    fn parse(text: &'a [u8]) -> Self {
        if !text.first().is_some_and(u8::is_ascii_digit) {
            return Self::Name(text);
        }
        let (start, rest) = number::size(text);
        if start == 0 {
            return Self::NoAddress;
        }
        let Some(rest) = rest.strip_prefix(b":") else {
            return Self::NoSize;
        };
        match number::size(rest) {
            (0, _) => Self::BadSize,
            (size, _) => Self::Address { start, size },
        }
    }
}

fn split(text: &[u8], at: u8) -> (&[u8], Option<&[u8]>) {
    match text.iter().position(|byte| *byte == at) {
        Some(index) => (
            text.get(..index).unwrap_or(text),
            text.get(index.saturating_add(1)..),
        ),
        None => (text, None),
    }
}

/// The number of words of a module in the list for the next kernel: its address, and its name
/// padded with zeros.
pub const MODULE_WORDS: usize = 8;
/// The most modules in the list.
pub const MODULES: usize = 128;

/// The words of a module. A name that is too long is cut.
pub fn module_words(name: &[u8], text: u64) -> [u64; MODULE_WORDS] {
    let mut bytes = [0u8; 8 * (MODULE_WORDS - 1)];
    let longest = bytes.len().saturating_sub(1);
    bytes
        .iter_mut()
        .take(longest)
        .zip(name)
        .for_each(|(to, from)| *to = *from);
    let mut words = [text; MODULE_WORDS];
    for (word, chunk) in words.iter_mut().skip(1).zip(bytes.chunks_exact(8)) {
        *word = chunk.try_into().map_or(0, u64::from_ne_bytes);
    }
    words
}

/// The name in a module's words. `None` if it is not a printable text with a NUL.
pub fn module_name(words: &[u64; MODULE_WORDS]) -> Option<([u8; 8 * (MODULE_WORDS - 1)], usize)> {
    let mut bytes = [0u8; 8 * (MODULE_WORDS - 1)];
    for (chunk, word) in bytes.chunks_exact_mut(8).zip(words.iter().skip(1)) {
        chunk.copy_from_slice(&word.to_ne_bytes());
    }
    let length = bytes.iter().position(|byte| *byte == 0)?;
    let printable = bytes
        .iter()
        .take(length)
        .all(|byte| (b' '..=b'~').contains(byte));
    printable.then_some((bytes, length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters() {
        let plain = BootInstance::parse(b"foo");
        assert_eq!(
            (plain.name, plain.copy_of, plain.memory),
            (&b"foo"[..], None, None)
        );
        assert!(
            !plain.traceoff
                && !plain.printk
                && plain.events().next().is_none()
                && plain.unknown_flags().next().is_none()
        );

        let all = BootInstance::parse(
            b"boot_map^traceoff^traceprintk^no@trace,sched,irq:irq_handler_entry",
        );
        assert_eq!(
            (all.name, all.memory),
            (&b"boot_map"[..], Some(Where::Name(b"trace")))
        );
        assert!(all.traceoff && all.printk);
        assert!(all.unknown_flags().eq([&b"no"[..]]));
        assert!(all.events().eq([&b"sched"[..], b"irq:irq_handler_entry"]));

        let behind = BootInstance::parse(b"a@12@x^traceoff^b@c^printk,sched");
        assert_eq!(
            (behind.name, behind.memory),
            (&b"a"[..], Some(Where::NoSize))
        );
        assert!(behind.traceoff && behind.printk && behind.unknown_flags().eq([&b"b@c"[..]]));
        // Only the first `^` begins flags.
        let both = BootInstance::parse(b"a^traceoff@m^printk");
        assert_eq!(both.memory, Some(Where::Name(b"m^printk")));
        assert!(both.traceoff && !both.printk);

        assert!(
            BootInstance::parse(b"a^printk").printk
                && BootInstance::parse(b"a^trace_printk").printk
        );
        assert_eq!(BootInstance::parse(b"new=old,x").copy_of, Some(&b"old"[..]));
    }

    #[test]
    fn addresses() {
        let memory = |text: &'static [u8]| BootInstance::parse(text).memory.unwrap();
        assert_eq!(
            memory(b"a@0x284500000:12M"),
            Where::Address {
                start: 0x2_8450_0000,
                size: 12 << 20
            }
        );
        assert_eq!(
            memory(b"a@1G:4096"),
            Where::Address {
                start: 1 << 30,
                size: 4096
            }
        );
        // What follows a size does not matter.
        assert_eq!(
            memory(b"a@4K:1Mb"),
            Where::Address {
                start: 4096,
                size: 1 << 20
            }
        );
        assert_eq!(memory(b"a@0:12M"), Where::NoAddress);
        assert_eq!(
            (memory(b"a@1x:1M"), memory(b"a@1M")),
            (Where::NoSize, Where::NoSize)
        );
        assert_eq!(
            (memory(b"a@1M:0"), memory(b"a@1M:"), memory(b"a@1M:x")),
            (Where::BadSize, Where::BadSize, Where::BadSize)
        );
    }

    #[test]
    fn modules() {
        let words = module_words(b"ext4", 0xffff_ffff_c000_0000);
        assert_eq!(words[0], 0xffff_ffff_c000_0000);
        let (bytes, length) = module_name(&words).unwrap();
        assert_eq!(&bytes[..length], b"ext4");
        let (bytes, length) = module_name(&module_words(&[b'x'; 90], 1)).unwrap();
        assert_eq!(bytes[..length], [b'x'; 55]);
        assert!(module_name(&[u64::MAX; 8]).is_none());
        assert!(module_name(&[0x0a; 8]).is_none());
        assert!(module_name(&[0x6161_6161_6161_6161; 8]).is_none());
    }
}
