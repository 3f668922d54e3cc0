// SPDX-License-Identifier: GPL-2.0

//! The ring buffer: one buffer per CPU, lock-free for writers in any context. Readers take whole
//! sub-buffers out by a swap.
//!
//! `Documentation/ring-buffer.md` explains words, pictures, algorithm, and why it is correct. In
//! short:
//!
//! - *Sub-buffer*: memory with a 16-byte header and records, described by one [`SubBuffer`]. The
//!   ring is an array of slots with one sub-buffer each. The reader owns one more.
//! - *Write position*: one word (sub-buffer, events on it, bytes used). *Reserve* moves it by one
//!   instruction. The caller then fills in the event. *Commit*: the outermost writer of the CPU
//!   copies the write position to the *commit position*. Readers may read up to there.
//! - *Sequence*: the number of a sub-buffer's content. The word of a slot says which sub-buffer is
//!   in it, with which content. Whoever changes that word by compare-and-swap owns the sub-buffer:
//!   a writer that needs room, or a reader that takes the oldest content.
//! - *Overrun*: events that were overwritten before they were read. *Lost*: the number of missing
//!   events that a reader gets between two events.
//!
//! Key types: [`CpuBuffer`]; [`Writer`] and [`Reservation`] on the buffer's CPU; [`Reader`] and
//! [`Iter`] on any CPU. Below: [`sys`](super::sys). Above: the kernel's glue, which provides pages,
//! the current CPU, the clock ([`Env`]) and the reader lock. The reader lock is the only lock.
//! Writers take none.
//!
//! The format of a sub-buffer is ABI, see `include/linux/ring_buffer.h` and [`parse`].

// In the kernel's one crate `pub` does not mean that an item is used, and the glue does not use all
// of them.
#![cfg_attr(CONFIG_RTRACE, allow(unreachable_pub, unused_imports))]

#[cfg(CONFIG_FUNCTION_TRACER)]
pub mod assembly;
mod context;
mod cpu_buffer;
mod discard;
mod env;
mod iter;
mod meta;
pub mod parse;
mod places;
mod plain;
mod read_page;
mod reader;
mod recover;
mod resize;
mod slow;
mod stats;
mod sub_buffer;
#[cfg(any(CONFIG_RING_BUFFER_VALIDATE_TIME_DELTAS, not(CONFIG_RTRACE)))]
pub mod validate;
mod word;
mod writer;

pub use context::Context;
pub use cpu_buffer::{BadParts, CpuBuffer, Parts};
pub use env::Env;
pub use iter::{Iter, IterEvent};
pub use meta::{Meta, MetaReader};
pub use plain::{Headless, Payload, Plain};
pub use read_page::{MappedPage, NoPage};
pub use reader::{Event, Reader};
pub use recover::{place_of, SavedBuffer, ValidSubBuffer, Validation};
pub use resize::{Moved, Resize};
pub use stats::Stats;
pub use sub_buffer::{SubBuffer, HEADER_SIZE};
pub use word::Header;
pub use writer::{Attempt, Ended, Reservation, Wake, Writer};
