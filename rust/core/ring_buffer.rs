// SPDX-License-Identifier: GPL-2.0

//! The ring buffer: per CPU, lock-free for writers in any context, sub-buffers swapped out whole to
//! readers.
//!
//! `Documentation/ring-buffer.md` explains it from the start: words, pictures, algorithm, why it is
//! right. In short:
//!
//! - *Sub-buffer*: a piece of memory with a 16-byte header and records; one descriptor
//!   ([`SubBuffer`]) each. The ring is an array of slots, each holding one; the reader owns one
//!   more.
//! - *Write position*: one word (sub-buffer, events on it, bytes used). *Reserve* moves it by one
//!   instruction, then the caller fills the event in. *Commit*: the outermost writer of the CPU
//!   copies the write position to the *commit position*, up to which readers may read.
//! - *Sequence*: number of a sub-buffer's content. A slot's word says which sub-buffer is there and
//!   which content; who changes that word by compare-and-swap (writer that needs room, reader that
//!   takes the oldest) owns the sub-buffer.
//! - *Overrun*: events overwritten before they were read. *Lost*: the same as a reader sees it,
//!   between two events.
//!
//! Key types: [`CpuBuffer`]; [`Writer`] and [`Reservation`] on the buffer's CPU; [`Reader`] and
//! [`Iter`] anywhere. Below: [`sys`](super::sys). Above: the kernel's glue, which brings pages,
//! this CPU, the clock ([`Env`]) and the reader lock. Lock order: the reader lock is the only lock;
//! writers take none.
//!
//! The format of a sub-buffer is ABI, see `include/linux/ring_buffer.h` and [`parse`].

// In the kernel's one crate `pub` says nothing about use, and the glue does not use all of this.
#![cfg_attr(CONFIG_RTRACE, allow(unreachable_pub, unused_imports))]

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
mod word;
mod writer;

pub use cpu_buffer::{BadParts, CpuBuffer, Parts};
pub use env::{Env, Step};
pub use iter::{Iter, IterEvent};
pub use meta::{Meta, MetaReader};
pub use plain::{Payload, Plain};
pub use read_page::{MappedPage, NoPage};
pub use reader::{Event, Reader};
pub use recover::{place_of, Find, Relics, Survey};
pub use resize::{Moved, Resize};
pub use stats::Stats;
pub use sub_buffer::{SubBuffer, HEADER_SIZE};
pub use word::Header;
pub use writer::{Attempt, Context, Ended, Reservation, Wake, Writer};
