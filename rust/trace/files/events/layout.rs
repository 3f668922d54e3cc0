// SPDX-License-Identifier: GPL-2.0

//! The layout of sub-buffers and entries, for tools that read the binary buffer: `header_event`,
//! `header_page`, and the built-in entries in `events/ftrace/`. The texts come from
//! `format::entry`, which describes the layout of each entry once.

use super::super::control::{Control, Text};
use super::super::Place;
#[cfg(CONFIG_EVENT_TRACING)]
use super::node::{EventPlace, FileRow};
#[cfg(CONFIG_EVENT_TRACING)]
use super::numbers::FTRACE;
use super::numbers::{Numbers, ENTRIES};
#[cfg(CONFIG_EVENT_TRACING)]
use super::systems;
use crate::core::format::entry::{self, Entry as _};
use crate::core::ring_buffer::{Header, HEADER_SIZE};
use crate::kernel::fs::pseudo_fs::{FileType, OpenFile, OpenFlags, Opening, ReadCall};
use crate::kernel::fs::tracefs::{Entry, Found, LazyDir, Listed};
#[cfg(CONFIG_EVENT_TRACING)]
use crate::trace::events::registry::Event;
use crate::trace::instance::{list, Instance};
use core::fmt::Write;
use kernel::prelude::*;
use kernel::sync::Arc;

/// Entries that have an `id` file. The ids of the others are only in their `format`, as in C.
const WITH_ID: [u16; 2] = [entry::Function::ID, entry::Print::ID];

/// The file `header_event`: the event header of the ring buffer.
pub(super) struct HeaderEvent;

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

/// The file `header_page`: the header of a sub-buffer.
pub(super) struct HeaderPage;

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

/// The built-in entries, with the inode numbers of their directories.
fn entries() -> impl Iterator<Item = (&'static entry::Row, Numbers)> {
    entry::listed().map(|entry| (entry, ENTRIES.directory(entry.id.into())))
}

/// The directory `events/ftrace/` of an instance.
pub(super) struct BuiltinDir(pub(super) Arc<Instance>);

impl LazyDir for BuiltinDir {
    fn find(&self, name: &[u8]) -> Result<Option<Found>> {
        let found = entries().find(|(entry, _)| entry.name.as_bytes() == name);
        let Some((entry, numbers)) = found else {
            return self.find_other(name);
        };
        let dir = BuiltinEntryDir {
            instance: self.0.clone(),
            entry,
            numbers,
            #[cfg(CONFIG_EVENT_TRACING)]
            event: systems::place(&self.0, FTRACE, name)?,
        };
        let dir = KBox::new(dir, GFP_KERNEL)?;
        Ok(Some(numbers.found(Entry::Dir(dir))))
    }

    #[cfg(CONFIG_EVENT_TRACING)]
    fn list(&self) -> Result<KVec<Listed>> {
        let mut list = KVec::new();
        let numbers = |event: &Event| {
            let kind = event.registered().id();
            let own = entries().find(|(entry, _)| entry.id == kind);
            own.map_or(systems::numbers_of(event.id()), |(_, numbers)| numbers)
        };
        systems::list_events(&self.0, FTRACE, numbers, &mut list)?;
        Ok(list)
    }

    #[cfg(not(CONFIG_EVENT_TRACING))]
    fn list(&self) -> Result<KVec<Listed>> {
        let mut list = KVec::new();
        for (place, (entry, numbers)) in (0..).zip(entries()) {
            list.push(numbers.listed(place, entry.name.as_bytes())?, GFP_KERNEL)?;
        }
        Ok(list)
    }
}

impl BuiltinDir {
    /// [`LazyDir::find`] among events that somebody has put into this system.
    #[cfg(CONFIG_EVENT_TRACING)]
    fn find_other(&self, name: &[u8]) -> Result<Option<Found>> {
        systems::find_event(&self.0, FTRACE, name)
    }

    #[cfg(not(CONFIG_EVENT_TRACING))]
    fn find_other(&self, _: &[u8]) -> Result<Option<Found>> {
        Ok(None)
    }
}

/// The directory of a built-in entry.
struct BuiltinEntryDir {
    instance: Arc<Instance>,
    entry: &'static entry::Row,
    numbers: Numbers,
    /// The event of these entries, if the entry is one.
    #[cfg(CONFIG_EVENT_TRACING)]
    event: Option<EventPlace>,
}

impl BuiltinEntryDir {
    fn files(&self) -> impl Iterator<Item = (&'static [u8], u64, Show)> {
        let has_id = WITH_ID.contains(&self.entry.id);
        let files: [(&[u8], bool, Show); 2] =
            [(b"format", true, show_format), (b"id", has_id, show_id)];
        let files = (1..).zip(files).filter(|(_, (_, there, _))| *there);
        files.map(|(number, (name, _, show))| (name, number, show))
    }

    /// The files of the event besides those above.
    #[cfg(CONFIG_EVENT_TRACING)]
    fn rows(&self) -> Result<KVec<(u64, &'static FileRow<EventPlace>)>> {
        let mut rows = match &self.event {
            Some(event) => event.rows()?,
            None => KVec::new(),
        };
        rows.retain(|(_, row)| !row.node.describes());
        Ok(rows)
    }

    /// [`LazyDir::find`] among [`BuiltinEntryDir::rows`].
    #[cfg(CONFIG_EVENT_TRACING)]
    fn find_row(&self, name: &[u8]) -> Result<Option<Found>> {
        let found = self.rows()?.into_iter().find(|(_, row)| row.name == name);
        match (found, &self.event) {
            (Some(row), Some(event)) => systems::file(row, event, self.numbers).map(Some),
            _ => Ok(None),
        }
    }

    #[cfg(not(CONFIG_EVENT_TRACING))]
    fn find_row(&self, _: &[u8]) -> Result<Option<Found>> {
        Ok(None)
    }
}

impl LazyDir for BuiltinEntryDir {
    fn find(&self, name: &[u8]) -> Result<Option<Found>> {
        let Some((_, number, show)) = self.files().find(|(known, ..)| *known == name) else {
            return self.find_row(name);
        };
        let file = EntryFile {
            instance: self.instance.clone(),
            entry: self.entry,
            show,
        };
        let file = KBox::new(file, GFP_KERNEL)?;
        Ok(Some(self.numbers.file(number, Entry::File(0o440, file))))
    }

    fn list(&self) -> Result<KVec<Listed>> {
        let mut list = KVec::new();
        for (name, number, _) in self.files() {
            list.push(self.numbers.listed_file(number, name)?, GFP_KERNEL)?;
        }
        #[cfg(CONFIG_EVENT_TRACING)]
        for (number, row) in self.rows()? {
            list.push(self.numbers.listed_file(number, row.name)?, GFP_KERNEL)?;
        }
        Ok(list)
    }
}

type Show = fn(&entry::Row, &Instance, &mut Text) -> Result;

/// A file of a built-in entry.
#[derive(Clone)]
struct EntryFile {
    instance: Arc<Instance>,
    entry: &'static entry::Row,
    show: Show,
}

impl FileType for EntryFile {
    fn open(&self, _how: &OpenFlags) -> Result<Opening> {
        // As in C it does not keep the instance.
        let _made = list::hold_opened(&self.instance)?;
        Opening::new(self.clone())
    }
}

impl OpenFile for EntryFile {
    fn read(&self, call: &mut ReadCall<'_>) -> Result<usize> {
        let mut text = Text::new();
        let result = (self.show)(self.entry, &self.instance, &mut text);
        call.put_from(text.written_with(result)?)
    }
}

/// `ENODEV` after the instance was removed.
fn show_format(entry: &entry::Row, instance: &Instance, out: &mut Text) -> Result {
    if instance.is_closed() {
        return Err(ENODEV);
    }
    Ok(entry.write_format(out)?)
}

fn show_id(entry: &entry::Row, _: &Instance, out: &mut Text) -> Result {
    Ok(writeln!(out, "{}", entry.id)?)
}
