// SPDX-License-Identifier: GPL-2.0

//! Every C-callable function and C-visible static: pointers become references, one safe call, errno.
mod tracefs;
mod trace;
mod printk;
mod ring_buffer;
mod ring_buffer_read;
mod trace_array;
mod trace_clock;
#[cfg(CONFIG_FUNCTION_TRACER)]
pub(crate) mod ftrace;
mod dump;
#[cfg(CONFIG_FUNCTION_TRACER)]
mod ftrace_hash;
