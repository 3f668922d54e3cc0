// SPDX-License-Identifier: GPL-2.0

//! The functions that are called while a latency is measured: option `function-trace`.

use crate::rcore::text::entry::ARGUMENTS;
use crate::rcore::text::options::Flag;
use crate::trace::buffer::Buffer;
use crate::trace::entry::{kind, Context};
use crate::trace::instance::Instance;
use crate::trace::ops::{Callback, Hit, Ops};
use kernel::prelude::*;
use kernel::sync::Arc;

/// Traces functions by the instance's filter as long as it lives and the option is on.
pub(super) struct Functions<T: Callback> {
    ops: Arc<Ops>,
    /// Kept here, too: the ops forgets it between two uses.
    callback: Arc<T>,
}

impl<T: Callback> Functions<T> {
    /// Traces as the option says now. Task context, may sleep. `ENOMEM`, `ENODEV` when ftrace is disarmed.
    pub(super) fn start(instance: &Arc<Instance>, callback: Arc<T>) -> Result<Self> {
        let ops = instance.ops().ok_or(ENOMEM)?.clone();
        let functions = Self { ops, callback };
        functions.set(instance.options().has(Flag::FunctionTrace))?;
        Ok(functions)
    }

    /// Follows the option `flag`, if it is the one. Task context, may sleep. Errors as [`Functions::start`].
    pub(super) fn option(&self, flag: Flag, on: bool) -> Result {
        match flag {
            Flag::FunctionTrace => self.set(on),
            _ => Ok(()),
        }
    }

    fn set(&self, on: bool) -> Result {
        if !on {
            return self.stop();
        }
        self.ops.set_callback(self.callback.clone())?;
        self.ops.register()
    }

    fn stop(&self) -> Result {
        if self.ops.is_registered() {
            self.ops.unregister()?;
        }
        // The callback holds the instance, which holds the ops.
        self.ops.clear_callback()
    }
}

impl<T: Callback> Drop for Functions<T> {
    fn drop(&mut self) {
        // It fails only when tracing was disarmed for good, and then nothing is called any more.
        let _ = self.stop();
    }
}

/// Records a call, made in `context`, with the function's first arguments, wanted or not, as ftrace does for these tracers. Any context.
pub(super) fn record_with_arguments(buffer: &Buffer, context: Context, hit: &Hit<'_>) {
    let mut words = [0; 2 + ARGUMENTS];
    let [ip, parent_ip, arguments @ ..] = &mut words;
    (*ip, *parent_ip) = (hit.ip, hit.parent_ip);
    *arguments = hit.arguments();
    // Where there is no room the buffer counts it.
    let _ = buffer.write_with(context, kind::FUNCTION, size_of_val(&words), |_, bytes| {
        for (place, word) in bytes.chunks_exact_mut(size_of::<usize>()).zip(words) {
            place.copy_from_slice(&word.to_ne_bytes());
        }
    });
}
