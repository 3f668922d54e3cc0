// SPDX-License-Identifier: GPL-2.0

//! Accesses to the memory of devices: the entries and the lines of the tracer `mmiotrace`.
//!
//! The lines have a format of their own, which programs read
//! (`Documentation/trace/mmiotrace.rst`). Without the tracer the entries have no text.

use super::{Common, Entry, Print, Show};
use crate::core::format::line::microseconds;
use crate::core::format::Out;
use crate::core::parse::parser::until_nul;
use core::fmt;

/// Values of `opcode`: `enum mm_io_opcode`.
mod opcode {
    pub(super) const READ: u8 = 1;
    pub(super) const WRITE: u8 = 2;
    pub(super) const PROBE: u8 = 3;
    pub(super) const UNPROBE: u8 = 4;
    pub(super) const UNKNOWN: u8 = 5;
}

/// An access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Entry)]
#[entry(
    name = "mmiotrace_rw",
    print = r#""%lx %lx %lx %d %x %x", (unsigned long)REC->phys, REC->value, REC->pc, REC->map_id, REC->opcode, REC->width"#
)]
#[repr(C)]
pub struct MmioRw {
    /// The address on the bus.
    #[c("resource_size_t")]
    pub phys: u64,
    /// What was read or written.
    pub value: usize,
    /// The instruction, if that is wanted.
    pub pc: usize,
    /// The mapping.
    pub map_id: i32,
    /// See [`opcode`].
    pub opcode: u8,
    /// The size in bytes.
    pub width: u8,
    /// Fills the last word.
    pub _pad: [u8; 2],
}

/// A mapping has begun or ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Entry)]
#[entry(
    name = "mmiotrace_map",
    print = r#""%lx %lx %lx %d %x", (unsigned long)REC->phys, REC->virt, REC->len, REC->map_id, REC->opcode"#
)]
#[repr(C)]
pub struct MmioMap {
    /// The address on the bus.
    #[c("resource_size_t")]
    pub phys: u64,
    /// The address in the kernel.
    pub virt: usize,
    /// The size in bytes.
    pub len: usize,
    /// The number of the mapping.
    pub map_id: i32,
    /// See [`opcode`].
    pub opcode: u8,
    /// Fills the last word.
    pub _pad: [u8; 3],
}

impl Show for MmioRw {
    const HAS_TEXT: bool = false;
}

impl Show for MmioMap {
    const HAS_TEXT: bool = false;
}

/// A time in the lines.
struct Time(u64);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let us = microseconds(self.0);
        write!(f, "{}.{:06}", us / 1_000_000, us % 1_000_000)
    }
}

impl MmioRw {
    fn write(&self, time: &Time, out: &mut dyn Out) -> fmt::Result {
        let Self {
            phys,
            value,
            pc,
            map_id,
            width,
            ..
        } = *self;
        let letter = match self.opcode {
            opcode::READ => 'R',
            opcode::WRITE => 'W',
            opcode::UNKNOWN => {
                write!(out, "UNKNOWN {time} {map_id} {phys:#x} ")?;
                let [low, middle, high, ..] = value.to_le_bytes();
                return writeln!(out, "{high:02x},{middle:02x},{low:02x} {pc:#x} 0");
            }
            _ => return out.bytes(b"rw what?\n"),
        };
        write!(out, "{letter} {width} {time} {map_id} ")?;
        writeln!(out, "{phys:#x} {value:#x} {pc:#x} 0")
    }
}

impl MmioMap {
    fn write(&self, time: &Time, out: &mut dyn Out) -> fmt::Result {
        let Self {
            phys,
            virt,
            len,
            map_id,
            ..
        } = *self;
        match self.opcode {
            opcode::PROBE => {
                write!(out, "MAP {time} {map_id} ")?;
                writeln!(out, "{phys:#x} {virt:#x} {len:#x} 0x0 0")
            }
            opcode::UNPROBE => writeln!(out, "UNMAP {time} {map_id} 0x0 0"),
            _ => out.bytes(b"map what?\n"),
        }
    }
}

/// Writes the line of a record, made at `ts`: an access, a mapping, or a mark, which is a text of
/// `trace_printk()` or of `trace_marker`. Nothing for other records.
///
/// # Errors
///
/// Only the errors of `out`.
pub fn write(record: &[u8], ts: u64, out: &mut dyn Out) -> fmt::Result {
    let time = Time(ts);
    match Common::parse(record).map(|common| common.id) {
        Ok(MmioRw::ID) => MmioRw::parse(record).map_or(Ok(()), |rw| rw.write(&time, out)),
        Ok(MmioMap::ID) => MmioMap::parse(record).map_or(Ok(()), |map| map.write(&time, out)),
        Ok(Print::ID) => {
            write!(out, "MARK {time} ")?;
            out.bytes(until_nul(Print::tail(record)))
        }
        _ => Ok(()),
    }
}

/// The first line of the format.
pub const VERSION: &[u8] = b"VERSION 20070824\n";

/// Writes the line that says that so many entries were lost before.
///
/// # Errors
///
/// Only the errors of `out`.
pub fn write_lost(out: &mut dyn Out, lost: u64) -> fmt::Result {
    writeln!(out, "MARK 0.000000 Lost {lost} events.")
}

/// A region of a PCI device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Region {
    /// The first address.
    pub start: u64,
    /// The last address.
    pub end: u64,
    /// What it is, in the lowest four bits.
    pub flags: u64,
}

/// A PCI device, as the lines before the first entry show it.
#[derive(Clone, Copy, Debug)]
pub struct PciDevice<'a> {
    /// The number of the bus.
    pub bus: u8,
    /// The device on the bus, and the function of it.
    pub devfn: u8,
    /// The maker.
    pub vendor: u16,
    /// The model.
    pub device: u16,
    /// The interrupt.
    pub irq: u32,
    /// The regions, and the ROM.
    pub regions: [Region; 7],
    /// The name of the driver; empty without one.
    pub driver: &'a [u8],
}

impl PciDevice<'_> {
    /// Writes the line.
    ///
    /// # Errors
    ///
    /// Only the errors of `out`.
    pub fn write(&self, out: &mut dyn Out) -> fmt::Result {
        write!(out, "PCIDEV {:02x}{:02x} ", self.bus, self.devfn)?;
        write!(out, "{:04x}{:04x} {:x}", self.vendor, self.device, self.irq)?;
        for region in &self.regions {
            write!(out, " {:x}", region.start | region.flags & 0xf)?;
        }
        for &Region { start, end, .. } in &self.regions {
            let size = if start < end {
                (end - start).wrapping_add(1)
            } else {
                0
            };
            write!(out, " {size:x}")?;
        }
        out.bytes(b" ")?;
        out.bytes(self.driver)?;
        out.bytes(b"\n")
    }
}

#[cfg(all(test, not(CONFIG_RTRACE)))]
mod tests {
    use super::super::super::symbol::tests::text;
    use super::super::Words;
    use super::*;
    use std::vec::Vec;

    fn record<E: Entry>(entry: E, tail: &[u8]) -> Vec<u8> {
        let mut bytes = std::vec![0; E::SIZE];
        let header = Common {
            id: E::ID,
            ..Common::default()
        };
        entry.words(header.word()).store(&mut bytes);
        bytes.extend(tail);
        bytes
    }

    #[test]
    fn lines() {
        let line = |record: &[u8]| text(|out| write(record, 1_000_002_499, out));
        let rw = |opcode| {
            let entry = MmioRw {
                phys: 0xfebf_0010,
                value: 0x12_3456,
                pc: 0,
                map_id: 3,
                opcode,
                width: 2,
                _pad: [0; 2],
            };
            line(&record(entry, &[]))
        };
        assert_eq!(rw(1), "R 2 1.000002 3 0xfebf0010 0x123456 0x0 0\n");
        assert_eq!(rw(2), "W 2 1.000002 3 0xfebf0010 0x123456 0x0 0\n");
        assert_eq!(rw(5), "UNKNOWN 1.000002 3 0xfebf0010 12,34,56 0x0 0\n");
        assert_eq!(rw(3), "rw what?\n");
        let map = |opcode| {
            let entry = MmioMap {
                phys: 0xfebf_0000,
                virt: 0xffff_c900_0000_0000,
                len: 0x4000,
                map_id: -1,
                opcode,
                _pad: [0; 3],
            };
            line(&record(entry, &[]))
        };
        assert_eq!(
            map(3),
            "MAP 1.000002 -1 0xfebf0000 0xffffc90000000000 0x4000 0x0 0\n"
        );
        assert_eq!(map(4), "UNMAP 1.000002 -1 0x0 0\n");
        assert_eq!(map(1), "map what?\n");
        let mark = record(Print { ip: 7 }, b"a mark\n\0\0");
        assert_eq!(line(&mark), "MARK 1.000002 a mark\n");
        assert_eq!(line(&record(super::super::Function::default(), &[])), "");
        assert_eq!(line(&[7, 0, 0]), "");
        assert_eq!(
            text(|out| write_lost(out, 12)),
            "MARK 0.000000 Lost 12 events.\n"
        );
    }

    #[test]
    fn devices() {
        let mut device = PciDevice {
            bus: 1,
            devfn: 0x20,
            vendor: 0x1af4,
            device: 0x1000,
            irq: 11,
            regions: [Region::default(); 7],
            driver: b"",
        };
        device.regions[0] = Region {
            start: 0xc000,
            end: 0xc01f,
            flags: 0x4_0101,
        };
        assert_eq!(
            text(|out| device.write(out)),
            "PCIDEV 0120 1af41000 b c001 0 0 0 0 0 0 20 0 0 0 0 0 0 \n"
        );
        device.driver = b"virtio-pci";
        assert!(text(|out| device.write(out)).ends_with(" 0 virtio-pci\n"));
    }
}
