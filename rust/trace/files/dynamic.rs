// SPDX-License-Identifier: GPL-2.0

//! Events that users define: `dynamic_events`, and `kprobe_events`, `kprobe_profile` and
//! `synthetic_events`.
//!
//! A line is a command; the text after `#` is ignored. `O_TRUNC` removes all events, or those of
//! the file's kind, unless one of them is in use. A read holds the list while it goes through it.

use super::node::row;
#[cfg(CONFIG_USER_EVENTS)]
use super::user_events;
use super::{Node, Place, Row, Scope};
use crate::core::format::Out;
use crate::kernel::fs::pseudo_fs::{OpenFile, OpenFlags, Opening, WriteCall};
use crate::kernel::fs::seq_file::{Cursor, Rows, SeqOut};
#[cfg(CONFIG_KPROBE_EVENTS)]
use crate::trace::events::dynamic::kprobe::{self, Kprobes};
#[cfg(CONFIG_SYNTH_EVENTS)]
use crate::trace::events::dynamic::synthetic::Synthetics;
#[cfg(CONFIG_UPROBE_EVENTS)]
use crate::trace::events::dynamic::uprobe::{self, Uprobes};
use crate::trace::events::dynamic::{self, Dynamic, Kind, List};
use core::fmt;
use kernel::prelude::*;
use kernel::sync::MutexGuard;

/// Room for a command, its end included.
const ROOM: usize = 4096;

/// The files.
#[rustfmt::skip]
pub(super) static FILES: &[Row] = &[
    row(c"dynamic_events", 0o640, Scope::Top, &Events(None),
        "Create/append/remove/show the events that users define, of all kinds"),
    #[cfg(CONFIG_KPROBE_EVENTS)]
    row(c"kprobe_events", 0o640, Scope::Top, &Events(Some(&Kprobes)),
        "Create/append/remove/show those of kprobes"),
    #[cfg(CONFIG_KPROBE_EVENTS)]
    row(c"kprobe_profile", 0o440, Scope::Top, &Profile(&Kprobes, kprobe::show_profile),
        "their names, how often each was hit, and how often it was missed"),
    #[cfg(CONFIG_SYNTH_EVENTS)]
    row(c"synthetic_events", 0o640, Scope::Top, &Events(Some(&Synthetics)),
        "Create/append/remove/show synthetic events"),
    #[cfg(CONFIG_UPROBE_EVENTS)]
    row(c"uprobe_events", 0o640, Scope::Top, &Events(Some(&Uprobes)),
        "Create/append/remove/show those of uprobes, in programs"),
    #[cfg(CONFIG_UPROBE_EVENTS)]
    row(c"uprobe_profile", 0o440, Scope::Top, &Profile(&Uprobes, uprobe::show_profile),
        "their files and names, and how often each was hit"),
    #[cfg(CONFIG_USER_EVENTS)]
    row(c"user_events_data", 0o640, Scope::Top, &user_events::Data,
        "programs register their events here by ioctl, and write entries"),
    #[cfg(CONFIG_USER_EVENTS)]
    row(c"user_events_status", 0o440, Scope::Top, &user_events::Status,
        "the events of programs, and who gets their entries"),
];

/// What `README` says of commands.
pub(super) static SYNTAX: &[&str] = &[
    "
Events that users define

  A line of dynamic_events or of the file of the kind:

\tp[:[<group>/][<event>]] <place> [<args>]
\tr[maxactive][:[<group>/][<event>]] <place> [<args>]
",
    #[cfg(CONFIG_FPROBE_EVENTS)]
    "\tf[:[<group>/][<event>]] <func-name>[%return] [<args>]
\tt[:[<group>/][<event>]] <tracepoint> [<args>]
",
    #[cfg(CONFIG_EPROBE_EVENTS)]
    "\te[:[<group>/][<event>]] <attached-group>.<attached-event> [<args>] [if <filter>]
",
    #[cfg(CONFIG_USER_EVENTS)]
    "\tu:<event> [<ctype> <name>[;<ctype> <name>...]]
",
    "\t-:[<group>/][<event>]

\t    place: [<module>:]<symbol>[+<offset>]|<memaddr>
\tplace (kretprobe): [<module>:]<symbol>[+<offset>]%return|<memaddr>
\tplace (uprobe): <path>:<offset>[%return][(ref_ctr_offset)]
\t     args: <name>=fetcharg[:type]
\t fetcharg: (%<register>|$<efield>), @<address>, @<symbol>[+|-<offset>],
\t           $stack<index>, $stack, $retval, $comm, $arg<N>, $current
",
    #[cfg(CONFIG_PROBE_EVENTS_BTF_ARGS)]
    "\t           [(structname[,field])]<argname>[->field[->field|.field...]],
\t           [(structname[,field])](fetcharg)->field[->field|.field...],
",
    "\t           +|-[u]<offset>(<fetcharg>), \\imm-value, \\\"imm-string\"
\t           this_cpu_read(<fetcharg>), this_cpu_ptr(<fetcharg>)
\t     kernel return probes support: $retval, $arg<N>, $comm
\t     type: s8/16/32/64, u8/16/32/64, x8/16/32/64, char, string, symbol,
\t           b<bit-width>@<bit-offset>/<container-size>, ustring,
\t           symstr, %pd/%pD, <type>\\[<array-size>\\]
",
    #[cfg(CONFIG_EPROBE_EVENTS)]
    "\t    efield: For event probes ('e' types), the field is on of the fields
\t            of the <attached-group>/<attached-event>.
",
];

/// And of those of synthetic events.
#[cfg(CONFIG_SYNTH_EVENTS)]
pub(super) const SYNTHETIC_SYNTAX: &str = "
\ts:[synthetic/]<event> <field> [<field>]

\t    field: <stype> <name>;
\t    stype: u8/u16/u32/u64, s8/s16/s32/s64, char, int, long, bool, pid_t,
\t           gfp_t, unsigned <type>, char[<length>], char[], long[]

  A line of synthetic_events has no s: and removes with an exclamation mark:

\t  # echo 'myevent u64 lat; char name[]; long[] stack' >> synthetic_events
\t  # echo '!myevent' >> synthetic_events
";

/// `dynamic_events`, and the file of a kind.
struct Events(Option<&'static dyn Kind>);

impl Node for Events {
    fn open(&'static self, _at: &Place, how: &OpenFlags) -> Result<Opening> {
        if how.write && how.trunc {
            dynamic::lock()?.clear(self.0)?;
        }
        let lines = match self.0 {
            None => Lines {
                kind: None,
                show: |one, out| one.show(out),
            },
            kind => Lines {
                kind,
                show: |one, out| one.show_alone(out),
            },
        };
        Opening::new(Open(lines))
    }
}

/// Lines of definitions, of all kinds or of one.
struct Lines {
    kind: Option<&'static dyn Kind>,
    show: fn(&dyn Dynamic, &mut dyn Out) -> fmt::Result,
}

impl Rows for Lines {
    fn start(&self, at: u64) -> Result<Option<KBox<dyn Cursor + '_>>> {
        let list = dynamic::lock()?;
        let at = usize::try_from(at).unwrap_or(usize::MAX);
        let Some((at, _)) = list.seek(self.kind, at) else {
            return Ok(None);
        };
        let lines = self;
        Ok(Some(KBox::new(InList { list, lines, at }, GFP_KERNEL)?))
    }
}

/// A place in the list, which is locked meanwhile.
struct InList<'a> {
    list: MutexGuard<'static, List>,
    lines: &'a Lines,
    at: usize,
}

impl Cursor for InList<'_> {
    fn show(&mut self, out: &mut SeqOut<'_>) -> Result {
        let Some((_, one)) = self.list.seek(self.lines.kind, self.at) else {
            return Ok(());
        };
        // A `SeqOut` never fails, so the error comes from the line itself.
        (self.lines.show)(one, out).map_err(|fmt::Error| ENOMEM)
    }

    fn next(&mut self) -> bool {
        let next = self.list.seek(self.lines.kind, self.at.saturating_add(1));
        let Some((at, _)) = next else {
            return false;
        };
        self.at = at;
        true
    }

    fn number(&self) -> Option<u64> {
        Some(self.at as u64)
    }
}

struct Open(Lines);

impl Open {
    /// Runs the command of a line. `EINVAL` for a NUL in it, as for a line that does not end.
    fn line(&self, line: &[u8]) -> Result {
        if line.contains(&0) {
            return Err(too_long());
        }
        let command = line.split(|&byte| byte == b'#').next().unwrap_or(&[]);
        dynamic::command(command, self.0.kind)
    }
}

fn too_long() -> Error {
    pr_warn!(
        "Line length is too long: Should be less than {}\n",
        ROOM - 2
    );
    EINVAL
}

impl OpenFile for Open {
    fn rows(&self) -> Option<&dyn Rows> {
        Some(&self.0)
    }

    /// Runs the commands of all lines, up to the first that is refused.
    fn write(&self, call: &mut WriteCall<'_>) -> Result<usize> {
        let total = call.len();
        let mut room = KVec::from_elem(0, ROOM - 1, GFP_KERNEL)?;
        let mut kept = 0;
        loop {
            let left = call.len();
            let free = room.get_mut(kept..).unwrap_or(&mut []);
            let length = left.min(free.len());
            let piece = free.get_mut(..length).unwrap_or(&mut []);
            call.reader().read_slice(piece)?;
            let filled = kept + length;
            let text = room.get(..filled).unwrap_or(&[]);
            let mut rest = text;
            while let Some(end) = rest.iter().position(|&byte| byte == b'\n') {
                let (line, behind) = rest.split_at(end);
                self.line(line)?;
                rest = behind.get(1..).unwrap_or(&[]);
            }
            if call.len() == 0 {
                if !rest.is_empty() {
                    self.line(rest)?;
                }
                return Ok(total);
            }
            let start = filled - rest.len();
            if start == 0 {
                return Err(too_long());
            }
            room.copy_within(start..filled, 0);
            kept = filled - start;
        }
    }
}

/// `kprobe_profile` or `uprobe_profile`: what this function writes of each definition of the kind.
#[cfg(any(CONFIG_KPROBE_EVENTS, CONFIG_UPROBE_EVENTS))]
struct Profile(
    &'static dyn Kind,
    fn(&dyn Dynamic, &mut dyn Out) -> fmt::Result,
);

#[cfg(any(CONFIG_KPROBE_EVENTS, CONFIG_UPROBE_EVENTS))]
impl Node for Profile {
    fn open(&'static self, _at: &Place, _how: &OpenFlags) -> Result<Opening> {
        let lines = Lines {
            kind: Some(self.0),
            show: self.1,
        };
        Opening::new(Counts(lines))
    }
}

#[cfg(any(CONFIG_KPROBE_EVENTS, CONFIG_UPROBE_EVENTS))]
struct Counts(Lines);

#[cfg(any(CONFIG_KPROBE_EVENTS, CONFIG_UPROBE_EVENTS))]
impl OpenFile for Counts {
    fn rows(&self) -> Option<&dyn Rows> {
        Some(&self.0)
    }
}
