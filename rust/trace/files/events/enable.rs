// SPDX-License-Identifier: GPL-2.0

//! `enable` of an event, of a system, and of all events.

use super::super::control::{errno, shown, Control, Limit, Text};
use super::super::Place;
use super::node::{open_text_file, EventNode, EventPlace, SystemPlace, TextFile};
use crate::core::format::Out;
use crate::core::parse::number;
use crate::kernel::fs::pseudo_fs::{OpenFlags, Opening};
use crate::trace::events::matching::Match;
use crate::trace::events::registry::{self, Event};
use crate::trace::instance::Instance;
use core::fmt::Write;
use kernel::prelude::*;
use kernel::sync::Arc;

/// `EINVAL` for a number but 0 and 1.
fn zero_or_one(number: u64) -> Result<bool> {
    match number {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(EINVAL),
    }
}

/// The file `enable` of an event.
pub(super) struct EnableEvent;

impl EventNode<EventPlace> for EnableEvent {
    fn open(&'static self, at: &EventPlace, _how: &OpenFlags) -> Result<Opening> {
        open_text_file(self, at)
    }

    fn is_there(&self, event: &Event) -> bool {
        event.is_offered()
    }
}

impl TextFile<EventPlace> for EnableEvent {
    fn show(&self, at: &EventPlace, out: &mut Text) -> Result {
        let registry = registry::lock()?;
        registry.event(at.event).ok_or(ENODEV)?;
        let file = registry.of(&at.instance).and_then(|of| of.file(at.event));
        shown(out.write_str(file.map_or("0\n", |file| file.enable_text())))
    }

    fn store(&self, at: &EventPlace, line: &[u8]) -> Result {
        let on = zero_or_one(number::unsigned(line, 10).map_err(errno)?)?;
        at.instance.expand()?;
        registry::lock()?.enable(&at.instance, at.event, on)
    }
}

/// Writes the state of the events that `is` accepts and that can be enabled: `1` all on, `0` all
/// off, `X` some on, `?` no such event.
fn show(instance: &Instance, out: &mut Text, is: impl Fn(&Event) -> bool) -> Result {
    let registry = registry::lock()?;
    let files = registry.of(instance);
    let (mut on, mut off) = (false, false);
    for event in registry
        .events_in(instance)
        .filter(|event| event.is_offered() && is(event))
    {
        let file = files.and_then(|files| files.file(event.id()));
        if file.is_some_and(|file| file.is_enabled()) {
            on = true;
        } else {
            off = true;
        }
        if on && off {
            break;
        }
    }
    shown(out.bytes(match (on, off) {
        (true, true) => b"X\n",
        (true, false) => b"1\n",
        (false, true) => b"0\n",
        (false, false) => b"?\n",
    }))
}

fn store(instance: &Arc<Instance>, line: &[u8], system: Option<&[u8]>) -> Result {
    let number = number::unsigned(line, 10).map_err(errno)?;
    instance.expand()?;
    let on = zero_or_one(number)?;
    let wanted = Match {
        system,
        ..Match::default()
    };
    registry::lock()?.enable_matching(instance, &wanted, on)
}

/// The file `enable` of a system.
pub(super) struct EnableSystem;

impl EventNode<SystemPlace> for EnableSystem {
    fn open(&'static self, at: &SystemPlace, _how: &OpenFlags) -> Result<Opening> {
        open_text_file(self, at)
    }
}

impl TextFile<SystemPlace> for EnableSystem {
    fn show(&self, at: &SystemPlace, out: &mut Text) -> Result {
        show(&at.instance, out, |event| {
            event.system().to_bytes() == at.system.as_slice()
        })
    }

    fn store(&self, at: &SystemPlace, line: &[u8]) -> Result {
        store(&at.instance, line, Some(&at.system))
    }
}

/// The file `events/enable`.
pub(super) struct EnableAll;

impl Control for EnableAll {
    fn show(&self, at: &Place, out: &mut Text) -> Result {
        show(&at.instance, out, |_| true)
    }

    fn store(&self, at: &Place, line: &[u8]) -> Result {
        store(&at.instance, line, None)
    }

    fn limit(&self) -> Limit {
        Limit::NUMBER
    }
}
