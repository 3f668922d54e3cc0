// SPDX-License-Identifier: GPL-2.0

//! Events that users define: `dynamic_events`, and `kprobe_events`, `kprobe_profile` and
//! `synthetic_events`.
//!
//! A line is a command; the text after `#` is ignored. `O_TRUNC` removes all events, or those of
//! the file's kind, unless one of them is in use. A reader sees the events that there were when the
//! file was opened.

use super::control::Text;
use super::node::row;
#[cfg(CONFIG_USER_EVENTS)]
use super::user_events;
use super::{Node, Place, Row, Scope};
#[cfg(any(CONFIG_KPROBE_EVENTS, CONFIG_UPROBE_EVENTS))]
use crate::core::format::Out;
use crate::kernel::fs::pseudo_fs::{OpenFile, OpenFlags, Opening, ReadCall, WriteCall};
#[cfg(CONFIG_KPROBE_EVENTS)]
use crate::trace::events::dynamic::kprobe::{self, Kprobes};
#[cfg(CONFIG_SYNTH_EVENTS)]
use crate::trace::events::dynamic::synthetic::Synthetics;
#[cfg(CONFIG_UPROBE_EVENTS)]
use crate::trace::events::dynamic::uprobe::{self, Uprobes};
#[cfg(any(CONFIG_KPROBE_EVENTS, CONFIG_UPROBE_EVENTS))]
use crate::trace::events::dynamic::List;
use crate::trace::events::dynamic::{self, Kind};
#[cfg(any(CONFIG_KPROBE_EVENTS, CONFIG_UPROBE_EVENTS))]
use core::fmt;
use kernel::prelude::*;

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
    row(c"kprobe_profile", 0o440, Scope::Top, &Profile(kprobe::show_profile),
        "their names, how often each was hit, and how often it was missed"),
    #[cfg(CONFIG_SYNTH_EVENTS)]
    row(c"synthetic_events", 0o640, Scope::Top, &Events(Some(&Synthetics)),
        "Create/append/remove/show synthetic events"),
    #[cfg(CONFIG_UPROBE_EVENTS)]
    row(c"uprobe_events", 0o640, Scope::Top, &Events(Some(&Uprobes)),
        "Create/append/remove/show those of uprobes, in programs"),
    #[cfg(CONFIG_UPROBE_EVENTS)]
    row(c"uprobe_profile", 0o440, Scope::Top, &Profile(uprobe::show_profile),
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
        let mut list = dynamic::lock()?;
        if how.write && how.trunc {
            list.clear(self.0)?;
        }
        let mut text = Text::new();
        let is_ours = |one: &dyn dynamic::Dynamic| self.0.is_none_or(|kind| kind.has(one));
        for one in list.iter().filter(|one| how.read && is_ours(*one)) {
            match self.0 {
                None => one.show(&mut text)?,
                Some(_) => one.show_alone(&mut text)?,
            }
        }
        drop(list);
        Opening::new(Open { kind: self.0, text })
    }
}

struct Open {
    kind: Option<&'static dyn Kind>,
    text: Text,
}

impl Open {
    /// Runs the command of a line.
    fn line(&self, line: &[u8]) -> Result {
        let is_end = |byte: &u8| matches!(byte, b'#' | 0);
        let command = line.split(is_end).next().unwrap_or(&[]);
        dynamic::command(command, self.kind)
    }
}

impl OpenFile for Open {
    fn read(&self, call: &mut ReadCall<'_>) -> Result<usize> {
        call.put_from(self.text.finish()?)
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
                pr_warn!(
                    "Line length is too long: Should be less than {}\n",
                    ROOM - 2
                );
                return Err(EINVAL);
            }
            room.copy_within(start..filled, 0);
            kept = filled - start;
        }
    }
}

/// `kprobe_profile` or `uprobe_profile`: what this function writes of the list.
#[cfg(any(CONFIG_KPROBE_EVENTS, CONFIG_UPROBE_EVENTS))]
struct Profile(fn(&List, &mut dyn Out) -> fmt::Result);

#[cfg(any(CONFIG_KPROBE_EVENTS, CONFIG_UPROBE_EVENTS))]
impl Node for Profile {
    fn open(&'static self, _at: &Place, _how: &OpenFlags) -> Result<Opening> {
        let mut text = Text::new();
        let list = dynamic::lock()?;
        (self.0)(&list, &mut text)?;
        drop(list);
        Opening::new(Shown(text))
    }
}

#[cfg(any(CONFIG_KPROBE_EVENTS, CONFIG_UPROBE_EVENTS))]
struct Shown(Text);

#[cfg(any(CONFIG_KPROBE_EVENTS, CONFIG_UPROBE_EVENTS))]
impl OpenFile for Shown {
    fn read(&self, call: &mut ReadCall<'_>) -> Result<usize> {
        call.put_from(self.0.finish()?)
    }
}
