// SPDX-License-Identifier: GPL-2.0

//! Any bytes as a filter: it is refused at a place in the text, or its program goes forward only
//! and evaluates any entry.

#![no_main]

use core::ops::Range;
use libfuzzer_sys::fuzz_target;
use rtrace_core::event::field::{Field, Kind};
use rtrace_core::event::filter::parse::compile;
use rtrace_core::event::filter::program::{Outside, Program, Step, REJECT};
use rtrace_core::event::filter::{NoMemory, Scope, Storage};

struct Event;

impl Scope for Event {
    fn field(&self, name: &[u8]) -> Option<Field> {
        let (kind, offset, size) = match name {
            b"a" => (Kind::Number, 8, 1),
            b"b" => (Kind::Number, 9, 3),
            b"c" => (Kind::Number, 12, 4),
            b"d" => (Kind::Number, 16, 8),
            b"s" => (Kind::Array, 24, 8),
            b"l" => (Kind::DataLoc, 32, 4),
            b"r" => (Kind::RelLoc, 36, 4),
            b"p" => (Kind::Pointer, 40, 8),
            b"m" => (Kind::CpuMask, 48, 4),
            _ => return None,
        };
        Some(Field {
            kind,
            offset,
            size,
            signed: size == 4,
        })
    }

    fn function(&self, name: &[u8]) -> Option<Range<u64>> {
        (name.len() == 1).then_some(1..9)
    }

    fn function_at(&self, address: u64) -> Option<Range<u64>> {
        (address < 9).then_some(1..9)
    }

    fn cpus(&self) -> usize {
        100
    }
}

#[derive(Default)]
struct Memory {
    steps: Vec<Step>,
    masks: Vec<u64>,
}

impl Storage for Memory {
    fn push(&mut self, step: Step) -> Result<(), NoMemory> {
        self.steps.push(step);
        Ok(())
    }

    fn steps(&mut self) -> &mut [Step] {
        &mut self.steps
    }

    fn mask(&mut self, words: usize) -> Result<(usize, &mut [u64]), NoMemory> {
        let first = self.masks.len();
        self.masks.resize(first + words, 0);
        Ok((first, &mut self.masks[first..]))
    }
}

struct Here;

impl Outside for Here {
    fn cpu(&self) -> u32 {
        3
    }

    fn comm(&self) -> [u8; 16] {
        *b"comm\0comm of more"[..16].first_chunk().unwrap()
    }

    fn text(&self, at: u64, user: bool, matches: &dyn Fn(&[u8]) -> bool) -> Option<bool> {
        (at != 0).then(|| matches(if user { b"user" } else { b"kernel" }))
    }
}

// The entry first, then the filter.
fuzz_target!(|bytes: &[u8]| {
    let (entry, text) = bytes.split_at(bytes.len().min(64));
    let mut memory = Memory::default();
    match compile(text, &Event, &mut memory) {
        Err(refused) => assert!(refused.position <= text.len() + 2),
        Ok(()) => {
            let count = memory.steps.len();
            for (index, step) in memory.steps.iter().enumerate() {
                for next in [step.on_true, step.on_false].map(usize::from) {
                    assert!(next > index && (next < count || next >= usize::from(REJECT)));
                }
            }
            let program = Program {
                text,
                steps: &memory.steps,
                masks: &memory.masks,
                cpus: 100,
            };
            program.matches(entry, &Here);
        }
    }
});
