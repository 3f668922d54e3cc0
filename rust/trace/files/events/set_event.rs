// SPDX-License-Identifier: GPL-2.0

//! `set_event` and `available_events`: events by name.
//!
//! A reader sees the events that existed when it opened the file.

use super::super::control::{errno, shown, Text};
use super::super::{Node, Place};
use crate::core::format::Out;
use crate::core::parse::parser::Parser;
use crate::kernel::fs::pseudo_fs::{OpenFile, OpenFlags, Opening, ReadCall, WriteCall};
use crate::trace::events::matching::Match;
use crate::trace::events::registry::{self, Event};
use core::fmt;
use kernel::page::PAGE_SIZE;
use kernel::prelude::*;

/// Bytes for an event's name with its prefix, its suffix and the final NUL.
const ROOM: usize = 128;

fn write_name(out: &mut dyn Out, event: &Event) -> fmt::Result {
    out.bytes(event.system().to_bytes())?;
    out.bytes(b":")?;
    out.bytes(event.name().to_bytes())?;
    out.bytes(b"\n")
}

/// The file `available_events`.
pub(in super::super) struct AvailableEvents;

impl Node for AvailableEvents {
    fn open(&'static self, at: &Place, _how: &OpenFlags) -> Result<Opening> {
        let mut text = Text::new();
        let registry = registry::lock()?;
        for event in registry.listed(&at.instance) {
            shown(write_name(&mut text, event))?;
        }
        drop(registry);
        Opening::new(Listing(text))
    }
}

struct Listing(Text);

impl OpenFile for Listing {
    fn read(&self, call: &mut ReadCall<'_>) -> Result<usize> {
        call.put_from(self.0.finish()?)
    }
}

/// The file `set_event`.
pub(in super::super) struct SetEvent;

impl Node for SetEvent {
    /// `O_TRUNC` disables all events.
    fn open(&'static self, at: &Place, how: &OpenFlags) -> Result<Opening> {
        let mut registry = registry::lock()?;
        if how.write && how.trunc {
            registry.disable_all(&at.instance)?;
        }
        let mut text = Text::new();
        if let Some(files) = registry.of(&at.instance).filter(|_| how.read) {
            let is_enabled =
                |event: &&Event| files.file(event.id()).is_some_and(|file| file.is_enabled());
            for event in registry.listed(&at.instance).filter(is_enabled) {
                shown(write_name(&mut text, event))?;
            }
        }
        if how.read {
            shown(registry.write_waiting(&at.instance, &mut text))?;
        }
        drop(registry);
        let at = at.clone();
        Opening::new(OpenSetEvent { at, text })
    }
}

struct OpenSetEvent {
    at: Place,
    text: Text,
}

impl OpenFile for OpenSetEvent {
    fn read(&self, call: &mut ReadCall<'_>) -> Result<usize> {
        call.put_from(self.text.finish()?)
    }

    /// Takes one name of a write. The caller writes the rest again.
    fn write(&self, call: &mut WriteCall<'_>) -> Result<usize> {
        if call.len() == 0 {
            return Ok(0);
        }
        let instance = &self.at.instance;
        instance.expand()?;
        let mut text = KVec::from_elem(0, call.len().min(PAGE_SIZE), GFP_KERNEL)?;
        call.reader().read_slice(&mut text)?;
        let mut parser = Parser::<ROOM>::new();
        let used = parser.feed(&text).map_err(errno)?;
        // The end of a write also ends a name.
        parser.finish();
        if let Some(word) = parser.take() {
            let (name, on) = match word {
                [b'!', name @ ..] => (name, false),
                name => (name, true),
            };
            let wanted = Match::parse(name);
            registry::lock()?.enable_or_wait(instance, &wanted, on)?;
        }
        *call.pos = call.pos.wrapping_add(used as i64);
        Ok(used)
    }
}
