// SPDX-License-Identifier: GPL-2.0

//! The description of an event: its `format`, its `id`, and its types in BTF.

use super::super::control::{shown, Text};
use super::node::{open_text_file, EventNode, EventPlace, TextFile};
#[cfg(CONFIG_BPF_EVENTS)]
use crate::kernel::bpf;
use crate::kernel::fs::pseudo_fs::{OpenFile, OpenFlags, Opening, ReadCall};
use crate::trace::events::format;
use crate::trace::events::registry::{self, Event};
use core::fmt::Write;
use kernel::prelude::*;

/// The file `format`.
pub(super) struct Format;

impl EventNode<EventPlace> for Format {
    fn open(&'static self, at: &EventPlace, _how: &OpenFlags) -> Result<Opening> {
        open_text_file(self, at)
    }

    fn describes(&self) -> bool {
        true
    }
}

impl TextFile<EventPlace> for Format {
    /// `ENODEV` after the instance was removed.
    fn show(&self, at: &EventPlace, out: &mut Text) -> Result {
        if at.instance.is_closed() {
            return Err(ENODEV);
        }
        let registry = registry::lock()?;
        shown(format::write(registry.event(at.event).ok_or(ENODEV)?, out))
    }
}

/// The file `id`.
pub(super) struct Id;

impl EventNode<EventPlace> for Id {
    fn open(&'static self, at: &EventPlace, _how: &OpenFlags) -> Result<Opening> {
        let registry = registry::lock()?;
        let event = registry.event(at.event).ok_or(ENODEV)?;
        Opening::new(OpenId(event.registered().id()))
    }

    fn is_there(&self, event: &Event) -> bool {
        cfg!(CONFIG_PERF_EVENTS) && event.can_record()
    }

    fn describes(&self) -> bool {
        true
    }
}

/// `id`, open. As in C it can be read when the event has gone.
struct OpenId(u16);

impl OpenFile for OpenId {
    fn read(&self, call: &mut ReadCall<'_>) -> Result<usize> {
        let mut text = Text::new();
        let result = shown(writeln!(text, "{}", self.0));
        call.put_from(text.written_with(result)?)
    }
}

/// The file `btf_ids`.
#[cfg(CONFIG_BPF_EVENTS)]
pub(super) struct BtfIds;

#[cfg(CONFIG_BPF_EVENTS)]
impl EventNode<EventPlace> for BtfIds {
    fn open(&'static self, at: &EventPlace, _how: &OpenFlags) -> Result<Opening> {
        open_text_file(self, at)
    }

    fn is_there(&self, event: &Event) -> bool {
        bpf::has_types(event)
    }

    fn describes(&self) -> bool {
        true
    }
}

#[cfg(CONFIG_BPF_EVENTS)]
impl TextFile<EventPlace> for BtfIds {
    fn show(&self, at: &EventPlace, out: &mut Text) -> Result {
        let registry = registry::lock()?;
        let event = registry.event(at.event).ok_or(ENODEV)?;
        let types = bpf::types_of(event).ok_or(ENOENT)?;
        shown(writeln!(
            out,
            "btf_obj_id: {}\nraw_btf_id: {}\ntp_btf_id: {}",
            types.object, types.raw, types.entry
        ))
    }
}
