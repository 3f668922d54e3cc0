// SPDX-License-Identifier: GPL-2.0

//! Context switches and wake-ups: the entries of the wakeup tracers.

use super::{Entry, Show};
use crate::core::format::environment::{Error, Line};
use crate::core::format::Out;

/// Entries of two tasks: of each its pid, priority and state. Each can be made of the other one.
macro_rules! entries {
    ($($(#[doc = $doc:literal])+ $entry:ident from $other:ident: $name:tt, $print:tt;)+) => {
        $(
            $(#[doc = $doc])+
            #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Entry)]
            #[entry(name = $name, print = $print)]
            #[repr(C)]
            pub struct $entry {
                /// The pid of the previous task, or of the waking task.
                pub prev_pid: u32,
                /// The pid of the next task, or of the woken task.
                pub next_pid: u32,
                /// The CPU that the next task will run on.
                pub next_cpu: u32,
                /// The kernel priority of the first task (100 and more are not real-time).
                pub prev_prio: u8,
                /// The state of the first task; see [`state_letter`].
                pub prev_state: u8,
                /// The priority of the second task.
                pub next_prio: u8,
                /// The state of the second task.
                pub next_state: u8,
            }

            impl From<$other> for $entry {
                fn from(other: $other) -> Self {
                    Self {
                        prev_pid: other.prev_pid,
                        next_pid: other.next_pid,
                        next_cpu: other.next_cpu,
                        prev_prio: other.prev_prio,
                        prev_state: other.prev_state,
                        next_prio: other.next_prio,
                        next_state: other.next_state,
                    }
                }
            }
        )+
    };
}

entries! {
    /// A CPU has switched from one task to another.
    ContextSwitch from Wakeup: "context_switch", r#""%u:%u:%u  ==> %u:%u:%u [%03u]", REC->prev_pid, REC->prev_prio, REC->prev_state, REC->next_pid, REC->next_prio, REC->next_state, REC->next_cpu"#;
    /// A task has woken another. The fields are those of [`ContextSwitch`].
    Wakeup from ContextSwitch: "wakeup", r#""%u:%u:%u  ==+ %u:%u:%u [%03u]", REC->prev_pid, REC->prev_prio, REC->prev_state, REC->next_pid, REC->next_prio, REC->next_state, REC->next_cpu"#;
}

/// The letter of a task's state. `?` for an unknown state.
fn state_letter(state: u8) -> u8 {
    b"RSDTtXZPI"
        .get(usize::from(state))
        .copied()
        .unwrap_or(b'?')
}

/// Printed in place of the first task's state in the short forms of a [`Wakeup`].
const WAKER: u8 = b'+';

impl ContextSwitch {
    fn write(&self, line: &Line<'_>, out: &mut dyn Out, arrow: &str) -> Result<(), Error> {
        let prev = char::from(state_letter(self.prev_state));
        let next = char::from(state_letter(self.next_state));
        write!(
            out,
            " {:7}:{:3}:{prev} {arrow} ",
            self.prev_pid, self.prev_prio
        )?;
        write!(
            out,
            "[{:03}] {:7}:{:3}:{next} ",
            self.next_cpu, self.next_pid, self.next_prio
        )?;
        line.env.tasks.write_name(self.next_pid as i32, out)?;
        Ok(out.bytes(b"\n")?)
    }

    fn write_raw(&self, out: &mut dyn Out, prev: u8) -> Result<(), Error> {
        let next = char::from(state_letter(self.next_state));
        let prev = char::from(prev);
        write!(out, "{} {} {prev} ", self.prev_pid, self.prev_prio)?;
        Ok(writeln!(
            out,
            "{} {} {} {next}",
            self.next_cpu, self.next_pid, self.next_prio
        )?)
    }

    fn write_hex(&self, out: &mut dyn Out, prev: u8) -> Result<(), Error> {
        // C prints the second letter as an `int`, unlike the first.
        let next = state_letter(self.next_state);
        write!(
            out,
            "{:08x} {:02x} {prev:02x} ",
            self.prev_pid, self.prev_prio
        )?;
        Ok(write!(
            out,
            "{:08x} {:08x} {:02x} {next:08x} ",
            self.next_cpu, self.next_pid, self.next_prio
        )?)
    }

    fn write_bin(&self, out: &mut dyn Out) -> Result<(), Error> {
        out.bytes(&self.prev_pid.to_ne_bytes())?;
        out.bytes(&[self.prev_prio, self.prev_state])?;
        out.bytes(&self.next_cpu.to_ne_bytes())?;
        out.bytes(&self.next_pid.to_ne_bytes())?;
        Ok(out.bytes(&[self.next_prio, self.next_state])?)
    }
}

impl Show for ContextSwitch {
    fn normal(&self, line: &Line<'_>, out: &mut dyn Out) -> Result<(), Error> {
        self.write(line, out, "==>")
    }

    fn raw(&self, _: &Line<'_>, out: &mut dyn Out) -> Result<(), Error> {
        self.write_raw(out, state_letter(self.prev_state))
    }

    fn hex(&self, _: &Line<'_>, out: &mut dyn Out) -> Result<(), Error> {
        self.write_hex(out, state_letter(self.prev_state))
    }

    fn bin(&self, _: &Line<'_>, out: &mut dyn Out) -> Result<(), Error> {
        self.write_bin(out)
    }
}

impl Show for Wakeup {
    fn normal(&self, line: &Line<'_>, out: &mut dyn Out) -> Result<(), Error> {
        ContextSwitch::from(*self).write(line, out, "  +")
    }

    fn raw(&self, _: &Line<'_>, out: &mut dyn Out) -> Result<(), Error> {
        ContextSwitch::from(*self).write_raw(out, WAKER)
    }

    fn hex(&self, _: &Line<'_>, out: &mut dyn Out) -> Result<(), Error> {
        ContextSwitch::from(*self).write_hex(out, WAKER)
    }

    fn bin(&self, _: &Line<'_>, out: &mut dyn Out) -> Result<(), Error> {
        ContextSwitch::from(*self).write_bin(out)
    }
}

#[cfg(all(test, not(CONFIG_RTRACE)))]
mod tests {
    use super::*;

    #[test]
    fn states() {
        assert_eq!((state_letter(0), state_letter(8)), (b'R', b'I'));
        assert_eq!(state_letter(9), b'?');
    }
}
