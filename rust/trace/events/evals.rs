// SPDX-License-Identifier: GPL-2.0

//! The names in formats of events with their numbers, kept for `eval_map`.
//!
//! The structures that have them lie in init memory, so the lines of the file are made when the
//! names come.

use crate::core::format::Out;
use crate::kernel::trace_event::Eval;
use core::fmt::{self, Write};
use kernel::new_mutex;
use kernel::prelude::*;
use kernel::sync::{Mutex, SetOnce};

/// The lines of a module, or of the kernel.
struct Lines {
    /// 0 for the kernel.
    module: usize,
    text: KVVec<u8>,
    /// Where each line ends.
    ends: KVVec<usize>,
}

/// In the order in which they came.
static KEPT: SetOnce<Pin<KBox<Mutex<KVec<Lines>>>>> = SetOnce::new();

/// Keeps the names of `module`, or of the kernel where that is 0. Task context, sleeps; the first
/// time at boot, on one CPU. `ENOMEM`.
pub(super) fn keep(module: usize, evals: &[Eval<'_>]) -> Result {
    if evals.is_empty() {
        return Ok(());
    }
    let mut lines = Lines {
        module,
        text: KVVec::new(),
        ends: KVVec::with_capacity(evals.len(), GFP_KERNEL)?,
    };
    for eval in evals {
        lines.add(eval).map_err(|fmt::Error| ENOMEM)?;
        lines.ends.push(lines.text.len(), GFP_KERNEL)?;
    }
    if KEPT.as_ref().is_none() {
        KEPT.populate(KBox::pin_init(new_mutex!(KVec::new()), GFP_KERNEL)?);
    }
    let mut kept = KEPT.as_ref().ok_or(ENOMEM)?.lock();
    Ok(kept.push(lines, GFP_KERNEL)?)
}

/// Forgets those of `module`, which goes. Task context, sleeps.
pub(super) fn forget(module: usize) {
    if let Some(kept) = KEPT.as_ref() {
        kept.lock().retain(|lines| lines.module != module);
    }
}

/// Has `f` look at line `at` of all; `None` behind the last. Task context, sleeps.
pub(crate) fn line<T>(at: usize, f: impl FnOnce(&[u8]) -> T) -> Option<T> {
    let kept = KEPT.as_ref()?.lock();
    let mut at = at;
    for lines in kept.iter() {
        if let Some(line) = lines.get(at) {
            return Some(f(line));
        }
        at = at.checked_sub(lines.ends.len())?;
    }
    None
}

impl Lines {
    fn add(&mut self, eval: &Eval<'_>) -> fmt::Result {
        self.bytes(eval.name.to_bytes())?;
        write!(self, " {} (", eval.value)?;
        self.bytes(eval.system_name.to_bytes())?;
        self.bytes(b")\n")
    }

    fn get(&self, at: usize) -> Option<&[u8]> {
        let end = *self.ends.get(at)?;
        let before = at.checked_sub(1).and_then(|before| self.ends.get(before));
        self.text.get(before.copied().unwrap_or(0)..end)
    }
}

impl fmt::Write for Lines {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.bytes(text.as_bytes())
    }
}

impl Out for Lines {
    fn bytes(&mut self, bytes: &[u8]) -> fmt::Result {
        let grown = self.text.extend_from_slice(bytes, GFP_KERNEL);
        grown.map_err(|_| fmt::Error)
    }

    fn written(&mut self, _: &dyn Fn(&mut [u8]) -> usize) -> fmt::Result {
        Err(fmt::Error)
    }
}
