// SPDX-License-Identifier: GPL-2.0

//! The text of `hist` files.

use super::super::{EventId, Registry, Trigger};
use super::HistTrigger;
use crate::core::event::hist::map::Element;
use crate::core::event::hist::print::{self, Names};
use crate::core::format::symbol::Symbols;
use crate::core::format::Out;
use crate::kernel::sort::sort_by;
#[cfg(CONFIG_FTRACE_SYSCALLS)]
use crate::trace::events::syscalls;
use crate::trace::instance::Instance;
use crate::trace::output::symbols::Kallsyms;
use core::fmt;
use kernel::prelude::*;

/// Names in this kernel.
struct KernelNames(Kallsyms);

impl Symbols for KernelNames {
    fn write_symbol(
        &self,
        addr: usize,
        offset: bool,
        out: &mut dyn Out,
    ) -> Result<bool, fmt::Error> {
        self.0.write_symbol(addr, offset, out)
    }

    fn write_name(&self, addr: usize, out: &mut dyn Out) -> fmt::Result {
        self.0.write_name(addr, out)
    }
}

impl Names for KernelNames {
    #[cfg(CONFIG_FTRACE_SYSCALLS)]
    fn syscall(&self, number: u64) -> Option<&[u8]> {
        // A number of a system call is an `int`.
        let call = syscalls::call(usize::try_from(number as i32).ok()?)?;
        Some(call.metadata.function())
    }

    #[cfg(not(CONFIG_FTRACE_SYSCALLS))]
    fn syscall(&self, _: u64) -> Option<&[u8]> {
        None
    }
}

impl Registry {
    /// The [changes](super::waiting::Changes::look) of the tables of `event`. Task context.
    pub(crate) fn hist_changes(&self, instance: &Instance, event: EventId) -> u64 {
        let Some(list) = self.triggers_of(instance, event) else {
            return 0;
        };
        let tables = list.of::<HistTrigger>().map(|hist| &hist.histogram);
        tables.fold(0, |sum, table| sum.wrapping_add(table.changes.look()))
    }

    /// Writes the text of the `hist` file of `event`. Task context, may sleep. `ENOMEM`.
    pub(crate) fn show_hists(
        &self,
        instance: &Instance,
        event: EventId,
        out: &mut dyn Out,
    ) -> Result {
        self.show_each(instance, event, out, |hist, out| {
            hist.show_table(instance, out)
        })
    }

    /// Has `show` write of each `hist` trigger of `event`, with empty lines between. Task context.
    /// `ENOMEM`.
    pub(super) fn show_each(
        &self,
        instance: &Instance,
        event: EventId,
        out: &mut dyn Out,
        show: impl Fn(&HistTrigger, &mut dyn Out) -> Result,
    ) -> Result {
        let Some(list) = self.triggers_of(instance, event) else {
            return Ok(());
        };
        for (at, hist) in list.of::<HistTrigger>().enumerate() {
            if at > 0 {
                out.bytes(b"\n\n").map_err(|_| ENOMEM)?;
            }
            show(hist, out)?;
        }
        Ok(())
    }
}

impl HistTrigger {
    /// Writes the lines with which texts about the trigger begin.
    pub(super) fn show_head(&self, out: &mut dyn Out) -> fmt::Result {
        out.bytes(b"# event histogram\n#\n# trigger info: ")?;
        self.line(out)?;
        out.bytes(b"#\n\n")
    }

    fn show_table(&self, instance: &Instance, out: &mut dyn Out) -> Result {
        let map = &self.histogram.map;
        let mut elements: KVVec<Element> = KVVec::new();
        for element in map.elements() {
            elements.push(element, GFP_KERNEL)?;
        }
        print::sort(
            (&*self.description, &*self.text),
            map,
            &mut elements,
            |part, order| {
                sort_by(part, order);
            },
        );
        self.write_table(instance, out, &elements)
            .map_err(|_| ENOMEM)
    }

    fn write_table(
        &self,
        instance: &Instance,
        out: &mut dyn Out,
        elements: &[Element],
    ) -> fmt::Result {
        let map = &self.histogram.map;
        self.show_head(out)?;
        let statistics = print::statistics(map, elements.iter().copied());
        let what = (&*self.description, &*self.text);
        let names = KernelNames(Kallsyms::new(instance.options(), None));
        let mut hits = 0u64;
        for element in elements {
            hits = hits.wrapping_add(map.sum(*element, 0));
            print::entry(out, what, (map, *element), &statistics, &names)?;
            out.bytes(b"\n")?;
        }
        self.write_snapshot(instance, out, &names)?;
        let (entries, drops) = (elements.len(), map.drops());
        write!(
            out,
            "\nTotals:\n    Hits: {hits}\n    Entries: {entries}\n    Dropped: {drops}\n"
        )
    }
}
