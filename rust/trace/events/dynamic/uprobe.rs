// SPDX-License-Identifier: GPL-2.0

//! Uprobe events: entries recorded when programs reach an instruction of a file, or when its
//! function returns.
//!
//! A hit is in the program's task, where its memory may be faulted in: values are fetched before
//! anything is reserved.

use super::arguments::{ArgumentError, Arguments};
use super::list::{self, Dynamic};
use super::probe_event::{define, Defined, Event, Probed, Title};
use super::probe_kind::ProbeKind;
use super::types::Known;
use super::words::Words;
use crate::core::event::probe::argument::Machine;
use crate::core::event::probe::command::{DefinitionError, Spot, NAME_ROOM};
use crate::core::event::probe::error::Reason;
use crate::core::event::probe::layout::Kind;
use crate::core::event::probe::meta::Origin;
use crate::core::event::probe::program::Source;
use crate::core::event::probe::types::TextOf;
use crate::core::event::probe::uprobe::{write_place, Head};
use crate::core::format::Out;
#[cfg(CONFIG_BPF_EVENTS)]
use crate::kernel::bpf::Target;
use crate::kernel::context::{current_and_name, PreemptOff};
use crate::kernel::dynamic_event::DynamicEvent;
use crate::kernel::percpu::PerCpu;
use crate::kernel::regs::{self, Regs, STACK_WORDS};
use crate::kernel::text::{NulText, Text};
use crate::kernel::trace_event::{Call, COMMON};
use crate::kernel::uprobe::{File, Handler, Place, Program, Uprobe as Probe};
use crate::kernel::{nofault, relaxed, user_memory};
use crate::trace::events::file::Hot;
use crate::trace::events::recording::{self, Filled, Start};
use core::fmt;
use kernel::prelude::*;
use kernel::sync::atomic::{Atomic, Relaxed};
use kernel::sync::Arc;

/// The longest text that is recorded, its end included.
const TEXT_MAX: usize = 4096;
/// Bytes of the values and texts of the longest entry.
const VALUES_MAX: usize = 4096;
/// Bytes of an entry, without its common fields, that is made on the stack.
const ON_STACK: usize = 128;
/// What stands for the address of the task's name, which is not in the program's memory.
const NAME: u64 = -70_i64 as u64;

/// The registers and the program's memory at a hit.
#[derive(Clone, Copy)]
struct AtHit<'a> {
    regs: &'a Regs,
    /// Where the start of the file would be mapped.
    base: usize,
}

impl Source for AtHit<'_> {
    #[inline(always)]
    fn register(&self, at: u16) -> u64 {
        self.regs.register(at) as u64
    }

    fn stack(&self, at: u32) -> u64 {
        let mut word = [0; 8];
        let address = self.stack_pointer().wrapping_add(u64::from(at) * 8);
        match user_memory::read(&mut word, address as usize) {
            true => u64::from_ne_bytes(word),
            false => 0,
        }
    }

    #[inline(always)]
    fn stack_pointer(&self) -> u64 {
        self.regs.user_stack_pointer() as u64
    }

    #[inline(always)]
    fn returned(&self) -> u64 {
        self.regs.returned() as u64
    }

    fn comm(&self) -> u64 {
        NAME
    }

    fn in_file(&self, offset: u64) -> u64 {
        (self.base as u64).wrapping_add(offset)
    }

    fn read(&self, _user: bool, address: u64, to: &mut [u8]) -> bool {
        user_memory::read(to, address as usize)
    }

    fn text_length(&self, _of: TextOf, address: u64) -> usize {
        match address {
            NAME => nofault::text_length(current_and_name().1, false, TEXT_MAX),
            address => user_memory::text_length(address as usize, TEXT_MAX),
        }
    }

    fn text(&self, _of: TextOf, address: u64, to: &mut [u8]) -> usize {
        if address != NAME {
            return user_memory::text(to, address as usize);
        }
        let copied = nofault::text(to, current_and_name().1, false).map(<[u8]>::len);
        // Its end was copied, too.
        copied.map_or(0, |length| length.saturating_add(1).min(to.len()))
    }

    // Definitions of programs' probes are refused these.

    fn current(&self) -> u64 {
        0
    }

    fn argument(&self, _at: u16) -> u64 {
        0
    }

    fn saved(&self, _at: u16) -> u64 {
        0
    }

    fn symbol(&self, _argument: usize) -> u64 {
        0
    }

    fn this_cpu(&self, _address: u64) -> u64 {
        0
    }
}

/// The handler of a probe.
struct Hits {
    event: Arc<DynamicEvent<Hot>>,
    arguments: Arc<Arguments>,
    offset: u64,
    is_return: bool,
    count: PerCpu<Atomic<u64>>,
}

impl Hits {
    /// Records a hit in all files of the event, or for perf. The entry begins with `words` of the
    /// place where the program goes on; `function` is where it was, or the function that returns.
    fn record<const N: usize>(
        &self,
        function: usize,
        regs: &Regs,
        words: impl FnOnce(usize) -> [usize; N],
    ) {
        #[cfg(CONFIG_BPF_EVENTS)]
        if self.event.programs_drop_uprobe(regs, function) {
            return;
        }
        // The programs may have changed the registers.
        let words = words(regs.instruction());
        let at = AtHit {
            regs,
            base: function.wrapping_sub(self.offset as usize),
        };
        let longest = COMMON + 8 * N + VALUES_MAX;
        let size = self.arguments.entry_size(at).min(longest);
        let length = size.saturating_sub(COMMON);
        let mut short = [0; ON_STACK];
        if let Some(fields) = short.get_mut(..length) {
            self.arguments.store(words, at, fields);
            return self.record_made(fields, size, at.regs);
        }
        // Without memory the hit is lost.
        let Ok(mut fields) = KVec::from_elem(0, length, GFP_KERNEL) else {
            return;
        };
        self.arguments.store(words, at, &mut fields);
        self.record_made(&fields, size, at.regs);
    }

    /// Records an entry of `size` bytes, of which `made` are those after the common fields.
    fn record_made(&self, made: &[u8], size: usize, regs: &Regs) {
        let fill = |fields: &mut [u8]| {
            if fields.len() == made.len() {
                fields.copy_from_slice(made);
            }
        };
        let stay = PreemptOff::new();
        recording::record_hits(&stay, &self.event, Start::Unknown, Filled(size, fill));
        self.event.submit(regs, &stay, || size, fill);
    }

    fn count(&self) -> u64 {
        let counts = self.count.iter().map(|(_, count)| relaxed::load(count));
        counts.fold(0, u64::wrapping_add)
    }
}

impl Handler for Hits {
    fn hit(&self, regs: &Regs, program: &Program) -> bool {
        {
            let _stay = PreemptOff::new();
            let count = self.count.this();
            count.store(relaxed::load(count).wrapping_add(1), Relaxed);
        }
        if !self.event.wants(program) {
            return false;
        }
        if !self.is_return {
            self.record(regs.instruction(), regs, |at| [at]);
        }
        true
    }

    fn returned(&self, function: usize, regs: &Regs) {
        self.record(function, regs, |at| [function, at]);
    }

    fn wants(&self, program: &Program) -> bool {
        self.event.wants(program)
    }
}

/// A probe of an event.
pub(crate) struct Uprobe {
    path: NulText,
    probe: Arc<Probe<Hits>>,
}

impl Uprobe {
    fn new(
        event: &Event<Self>,
        path: &[u8],
        place: Place,
        is_return: bool,
        arguments: Arc<Arguments>,
    ) -> Result<Self> {
        let hits = Hits {
            event: event.event().clone(),
            arguments,
            offset: place.offset,
            is_return,
            count: PerCpu::new(|_| Atomic::new(0))?,
        };
        Ok(Self {
            path: Text::nul_text(|out| out.bytes(path))?,
            probe: Probe::new(place, is_return, hits)?,
        })
    }

    /// Whether both are at one instruction.
    fn is_at_same(&self, file: &File, offset: u64) -> bool {
        let place = self.probe.place();
        place.offset == offset && place.file.is_same(file)
    }
}

impl Probed for Uprobe {
    const IS_OF_PROGRAMS: bool = true;

    fn arguments(&self) -> &Arguments {
        &self.probe.handler().arguments
    }

    /// It is registered when the event is enabled the next time.
    fn register(&self, _on: bool) -> Result {
        Ok(())
    }

    fn unregister(&self) {
        self.probe.unregister();
    }

    fn enable(&self, on: bool) -> Result {
        match on {
            true => self.probe.register(),
            false => {
                self.probe.unregister();
                Ok(())
            }
        }
    }

    /// Hits under way are waited for once, not for each of them.
    fn disable_all(probes: &[Arc<Self>]) -> Result {
        Probe::unregister_all(probes, |uprobe| &uprobe.probe);
        Ok(())
    }

    fn apply(&self, more: bool) -> Result {
        self.probe.apply(more)
    }

    fn show_head(&self, out: &mut dyn Out) -> fmt::Result {
        out.bytes(if self.probe.is_return() { b"r" } else { b"p" })
    }

    fn show_place(&self, out: &mut dyn Out) -> fmt::Result {
        let Place {
            offset, counter, ..
        } = self.probe.place();
        write_place(self.path.to_bytes(), *offset, *counter, out)
    }

    fn is_same_place(&self, other: &Self) -> bool {
        let Place { file, offset, .. } = other.probe.place();
        self.is_at_same(file, *offset)
    }

    #[cfg(CONFIG_BPF_EVENTS)]
    fn target(&self) -> Option<Target<'_>> {
        let Place {
            offset, counter, ..
        } = *self.probe.place();
        Some(Target {
            name: Some(&self.path),
            offset,
            address: counter,
            is_return: self.probe.is_return(),
            #[cfg(CONFIG_KPROBE_EVENTS)]
            missed: 0,
        })
    }

    fn module_comes(&self, _name: &[u8], _event: &Event<Self>) {}
}

/// Writes the lines of `uprobe_profile`.
pub(crate) fn show_profile(one: &dyn Dynamic, out: &mut dyn Out) -> fmt::Result {
    let Some(uprobe) = one.as_any().downcast_ref::<Defined<Uprobe>>() else {
        return Ok(());
    };
    let name = uprobe.event().name();
    let Uprobe { path, probe } = uprobe.probe();
    out.bytes(b"  ")?;
    out.bytes(path.to_bytes())?;
    out.bytes(b" ")?;
    out.bytes(name)?;
    for _ in name.len()..44 {
        out.bytes(b" ")?;
    }
    writeln!(out, " {:15}", probe.handler().count())
}

/// A program, as definitions ask the machine.
struct InPrograms;

impl Machine for InPrograms {
    fn register(&self, name: &[u8]) -> Option<u16> {
        regs::register(name)
    }

    fn stack_words(&self) -> u64 {
        STACK_WORDS as u64
    }

    fn is_program(&self) -> bool {
        true
    }
}

/// The kind.
pub(crate) struct Uprobes;

fn title<'a>(group: &'a [u8], name: &'a [u8], is_return: bool) -> Title<'a> {
    Title {
        group,
        name,
        flags: Call::UPROBE,
        sort: u8::from(is_return),
    }
}

fn arguments<'a>(
    is_return: bool,
    words: impl Iterator<Item = (&'a [u8], Origin)>,
) -> Result<Arguments, ArgumentError> {
    let (kind, spot) = match is_return {
        true => (Kind::ProgramReturn, Spot::Return),
        false => (Kind::ProgramEntry, Spot::Inside),
    };
    // The types are the kernel's.
    Arguments::new(kind, words, spot, &InPrograms, &mut Known::nothing())
}

impl ProbeKind for Uprobes {
    type Probe = Uprobe;
    type Definition<'a> = Head<'a>;

    const NAME: &'static str = "trace_uprobe";

    fn parse<'a>(
        words: impl Iterator<Item = &'a [u8]> + Clone,
    ) -> Result<Head<'a>, DefinitionError> {
        Head::parse(words)
    }

    fn define(head: Head<'_>, words: Words) -> Result {
        let file = match File::find(&Text::nul_text(|out| out.bytes(head.path))?) {
            Ok(file) => file,
            Err(error) => return words.refuse(Reason::FileNotFound, 1, error),
        };
        if !file.is_regular() {
            return words.refuse(Reason::NotRegularFile, 1, EINVAL);
        }
        let definition = match head.finish() {
            Ok(definition) => definition,
            Err(refused) => return words.refused(&refused),
        };
        let is_return = definition.is_return;
        let arguments = words.logged(arguments(is_return, words.numbered()))?;
        let arguments = Arc::new(arguments, GFP_KERNEL)?;
        let list = &mut list::lock()?;
        let counts_elsewhere = list.of::<Defined<Uprobe>>().any(|known| {
            let probe = known.probe();
            probe.is_at_same(&file, definition.offset)
                && probe.probe.place().counter != definition.counter
        });
        if counts_elsewhere {
            pr_warn!("Reference counter offset mismatch.\n");
            return Err(EINVAL);
        }
        let name = match definition.event {
            Some(name) => Text::copy(name)?,
            None => {
                let mut name = Text::of(|out| definition.write_name(out))?;
                name.truncate(NAME_ROOM - 1);
                name
            }
        };
        let title = title(definition.group.unwrap_or(b"uprobes"), &name, is_return);
        let place = Place {
            file,
            offset: definition.offset,
            counter: definition.counter,
        };
        define(title, &words, arguments.clone(), list, |event| {
            Uprobe::new(event, definition.path, place, is_return, arguments)
        })
    }
}

/// A probe for one of perf's events alone, in no list.
struct Local {
    event: Event<Uprobe>,
    // Goes before what it tells of hits.
    probe: Arc<Uprobe>,
}

impl list::Local for Local {
    fn call(&self) -> &Call {
        self.event.event().call()
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        // The probe has the event, and the event the probe.
        self.event.forget(&self.probe);
    }
}

/// Makes a probe for perf alone, and runs `begin` on its event. Task context, sleeps.
///
/// # Errors
///
/// As of a path, `EINVAL` for what is no regular file, and those of a probe and of `begin`.
pub(crate) fn create_local(
    path: &CStr,
    offset: u64,
    counter: u64,
    is_return: bool,
    begin: impl FnOnce(&Call) -> Result,
) -> Result {
    let file = File::find(path)?;
    if !file.is_regular() {
        return Err(EINVAL);
    }
    let arguments = Arc::new(arguments(is_return, core::iter::empty())?, GFP_KERNEL)?;
    let title = title(b"uprobes", b"DUMMY_EVENT", is_return);
    let event = Event::local(title, arguments.clone())?;
    let place = Place {
        file,
        offset,
        counter,
    };
    let probe = Uprobe::new(&event, path.to_bytes(), place, is_return, arguments)?;
    let probe = Arc::new(probe, GFP_KERNEL)?;
    event.add(probe.clone())?;
    let local = Local { event, probe };
    list::lock()?.add_local(local, begin)
}

/// Undoes [`create_local`]. Task context, sleeps.
pub(crate) fn destroy_local(call: &Call) {
    let gone = list::lock().ok().and_then(|mut list| list.take_local(call));
    drop(gone);
}
