// SPDX-License-Identifier: GPL-2.0

//! `events/`: how sub-buffers and entries are laid out, for tools that read the binary buffer.
//!
//! No event of the kernel's is known yet, so `enable` stands for the empty set, which reads `?` as
//! in C, and below `ftrace/` are the entries that the core itself records. The texts come from
//! `format::entry`, where the entries' layout is described once.

use super::control::{errno, Control, Text};
use super::{Place, Row, Scope};
use crate::core::format::entry::{self, Branch, Entry};
use crate::core::parse::number;
use crate::core::ring_buffer::{Header, HEADER_SIZE};
use crate::kernel::fs::pseudo_fs::{FileType, OpenFile, OpenFlags, Opening, ReadCall};
use crate::kernel::fs::tracefs::Dir;
use core::fmt::Write;
use kernel::{prelude::*, str::CString};

/// Entries that have an `id` file; the others' ids are only in their `format`, as in C.
const WITH_ID: [u16; 2] = [entry::Function::ID, entry::Print::ID];

#[rustfmt::skip]
static FILES: &[Row] = &[
    super::row(c"enable", 0o640, Scope::Recorder, &Enable, "switches all events; there are none yet"),
    super::row(c"header_event", 0o440, Scope::Instance, &HeaderEvent, "the header of a record in the ring buffer"),
    super::row(c"header_page", 0o440, Scope::Instance, &HeaderPage, "the head of a sub-buffer"),
];

/// Makes the directory. Task context, may sleep; errors as [`Dir::create_file`].
pub(super) fn create(parent: &Dir, at: &Place) -> Result {
    let events = parent.create_dir(c"events")?;
    FILES
        .iter()
        .filter(|row| row.scope.includes(at))
        .for_each(|row| row.create(&events, at));
    let ftrace = events.create_dir(c"ftrace")?;
    // Who makes no entry of a kind need not be asked what it looks like.
    for entry in entry::TABLE
        .iter()
        .filter(|entry| entry.id != Branch::ID || cfg!(CONFIG_BRANCH_TRACER))
    {
        let name = CString::try_from_fmt(fmt!("{}", entry.name))?;
        let dir = ftrace.create_dir(&name)?;
        dir.create_file(
            c"format",
            0o440,
            KBox::new(
                EntryFile {
                    entry,
                    show: show_format,
                },
                GFP_KERNEL,
            )?,
        )?;
        if WITH_ID.contains(&entry.id) {
            dir.create_file(
                c"id",
                0o440,
                KBox::new(
                    EntryFile {
                        entry,
                        show: show_id,
                    },
                    GFP_KERNEL,
                )?,
            )?;
        }
    }
    Ok(())
}

/// `events/enable` while there is no event.
struct Enable;

impl Control for Enable {
    fn show(&self, _at: &Place, out: &mut Text) -> Result {
        Ok(out.write_str("?\n")?)
    }

    fn store(&self, _at: &Place, line: &[u8]) -> Result {
        // All of no events are switched as asked.
        number::zero_or_one(line).map(drop).map_err(errno)
    }
}

/// `header_event`: the record header of the ring buffer.
struct HeaderEvent;

impl Control for HeaderEvent {
    fn show(&self, _at: &Place, out: &mut Text) -> Result {
        writeln!(out, "# compressed entry header")?;
        writeln!(
            out,
            "\ttype_len    : {:>4} bits",
            u32::BITS - Header::DELTA_BITS
        )?;
        writeln!(out, "\ttime_delta  : {:>4} bits", Header::DELTA_BITS)?;
        writeln!(out, "\tarray       : {:>4} bits\n", u32::BITS)?;
        writeln!(out, "\tpadding     : type == {}", Header::PADDING)?;
        writeln!(out, "\ttime_extend : type == {}", Header::TIME_EXTEND)?;
        writeln!(out, "\ttime_stamp : type == {}", Header::TIME_STAMP)?;
        Ok(writeln!(
            out,
            "\tdata max type_len  == {}",
            Header::MAX_SMALL / 4
        )?)
    }
}

/// `header_page`: the head of a sub-buffer.
struct HeaderPage;

impl Control for HeaderPage {
    fn show(&self, at: &Place, out: &mut Text) -> Result {
        let data = at.instance.buffer().sub_buffer_size() - HEADER_SIZE;
        let fields = [
            ("u64 timestamp", 0, 8, 0),
            ("local_t commit", 8, 8, 1),
            ("char overwrite", 8, 1, 0),
            ("char data", HEADER_SIZE, data, 0),
        ];
        for (field, offset, size, signed) in fields {
            writeln!(
                out,
                "\tfield: {field};\toffset:{offset};\tsize:{size};\tsigned:{signed};"
            )?;
        }
        Ok(())
    }
}

/// A file of one of the core's own entries.
struct EntryFile {
    entry: &'static entry::Row,
    show: fn(&entry::Row, &mut Text) -> Result,
}

impl FileType for EntryFile {
    fn open(&self, _how: &OpenFlags) -> Result<Opening> {
        let mut text = Text::new();
        (self.show)(self.entry, &mut text)?;
        Opening::new(FixedText(text))
    }
}

fn show_format(entry: &entry::Row, out: &mut Text) -> Result {
    Ok(entry.write_format(out)?)
}

fn show_id(entry: &entry::Row, out: &mut Text) -> Result {
    Ok(writeln!(out, "{}", entry.id)?)
}

/// An open file whose text does not change.
struct FixedText(Text);

impl OpenFile for FixedText {
    fn read(&self, call: &mut ReadCall<'_>) -> Result<usize> {
        call.put_from(self.0.finish()?)
    }
}
