// SPDX-License-Identifier: GPL-2.0

//! The files `hist` and `hist_debug` of an event.

use super::super::control::Text;
#[cfg(CONFIG_HIST_TRIGGERS_DEBUG)]
use super::node::{open_text_file, TextFile};
use super::node::{EventNode, EventPlace};
use crate::kernel::fs::pseudo_fs::{OpenFile, OpenFlags, Opening, PollCall, PollEvents, ReadCall};
use crate::trace::events::registry;
use crate::trace::events::trigger::hist::waiting;
use kernel::new_mutex;
use kernel::prelude::*;
use kernel::sync::atomic::{Atomic, Relaxed};
use kernel::sync::Mutex;

/// What `README` says of the trigger.
pub(in crate::trace::files) const SYNTAX: &str = "
Histograms

  A line of the file trigger of an event:

      hist trigger\t- If set, event hits are aggregated into a hash table
\t    Format: hist:keys=<field1[,field2,...]>
\t            [:<var1>=<field|var_ref|numeric_literal>[,<var2>=...]]
\t            [:values=<field1[,field2,...]>]
\t            [:sort=<field1[,field2,...]>]
\t            [:size=#entries]
\t            [:pause][:continue][:clear]
\t            [:name=histname1]
\t            [:nohitcount]
\t            [:<handler>.<action>]
\t            [if <filter>]

\t    Keys can be any field, or the special string 'common_stacktrace'.

\t    Special fields:
\t            common_timestamp, common_cpu, common_comm, common_stacktrace

\t    Modifiers of fields:
\t            .hex        display a number as a hex value
\t            .sym        display an address as a symbol
\t            .sym-offset display an address as a symbol and offset
\t            .execname   display a common_pid as a program name
\t            .syscall    display a syscall id as a syscall name
\t            .log2       display log2 value rather than raw number
\t            .buckets=size  display values in groups of size rather than raw number
\t            .usecs      display a common_timestamp in microseconds
\t            .percent    display a number of percentage value
\t            .graph      display a bar-graph of a value

\t    Handlers:
\t            onmatch(matching.event)  invoke on addition or update
\t            onmax(var)               invoke if var exceeds current max
\t            onchange(var)            invoke action if var changes

\t    Actions:
\t            trace(<synthetic_event>,param list)  generate synthetic event
\t            save(field,...)                      save current event fields
\t            snapshot()                           snapshot the trace buffer

\t    The file hist of the event has the tables of its triggers.
";

/// The row of the file.
pub(super) struct Hist;

impl EventNode<EventPlace> for Hist {
    fn open(&'static self, at: &EventPlace, _: &OpenFlags) -> Result<Opening> {
        let registry = registry::lock()?;
        waiting::prepare()?;
        let changes = registry.hist_changes(&at.instance, at.event);
        drop(registry);
        let at = at.clone();
        Opening::pin_init(try_pin_init!(OpenHist {
            at,
            text <- new_mutex!(Text::new()),
            read: Atomic::new(0),
            polled: Atomic::new(changes),
        }? Error))
    }
}

#[pin_data]
struct OpenHist {
    at: EventPlace,
    /// The text that is being read, as it was when the reading began.
    #[pin]
    text: Mutex<Text>,
    /// The changes of the tables before the text was made.
    read: Atomic<u64>,
    /// The changes at the last read or poll.
    polled: Atomic<u64>,
}

impl OpenFile for OpenHist {
    fn read(&self, call: &mut ReadCall<'_>) -> Result<usize> {
        let mut shown = self.text.lock();
        let is_empty = shown.finish().is_ok_and(<[u8]>::is_empty);
        if *call.pos == 0 || is_empty {
            let mut text = Text::new();
            let registry = registry::lock()?;
            let (instance, event) = (&self.at.instance, self.at.event);
            registry.event(event).ok_or(ENODEV)?;
            let changes = registry.hist_changes(instance, event);
            registry.show_hists(instance, event, &mut text)?;
            self.read.store(changes, Relaxed);
            self.polled.store(changes, Relaxed);
            *shown = text;
        }
        call.put_from(shown.finish()?)
    }

    fn polls(&self) -> bool {
        true
    }

    fn poll<'f>(&'f self, call: &PollCall<'f>) -> PollEvents {
        waiting::wait(call);
        let Ok(registry) = registry::lock() else {
            return PollEvents::ERROR;
        };
        if registry.event(self.at.event).is_none() {
            return PollEvents::ERROR;
        }
        let changes = registry.hist_changes(&self.at.instance, self.at.event);
        drop(registry);
        let mut events = PollEvents::NONE;
        if self.read.load(Relaxed) != changes {
            events = events.and(PollEvents::READABLE);
        }
        if self.polled.xchg(changes, Relaxed) != changes {
            events = events.and(PollEvents::URGENT);
        }
        events
    }
}

/// The row of the file that shows definitions.
#[cfg(CONFIG_HIST_TRIGGERS_DEBUG)]
pub(super) struct HistDebug;

#[cfg(CONFIG_HIST_TRIGGERS_DEBUG)]
impl EventNode<EventPlace> for HistDebug {
    fn open(&'static self, at: &EventPlace, _: &OpenFlags) -> Result<Opening> {
        open_text_file(self, at)
    }
}

#[cfg(CONFIG_HIST_TRIGGERS_DEBUG)]
impl TextFile<EventPlace> for HistDebug {
    fn show(&self, at: &EventPlace, out: &mut Text) -> Result {
        let registry = registry::lock()?;
        registry.event(at.event).ok_or(ENODEV)?;
        registry.show_hist_definitions(&at.instance, at.event, out)
    }
}
