// SPDX-License-Identifier: GPL-2.0

//! The writers' side: the path of every entry, on one screen, and its slower sisters.
//!
//! Nothing here locks, allocates, sleeps or can panic; any context, NMI included. `Documentation/function-tracer.md`
//! says where each instruction goes.

use super::ring::Ring;
use super::Buffer;
use crate::kapi::clock as sys;
use crate::kapi::context::PreemptOff;
use crate::kapi::entry_made;
use crate::rcore::ring_buffer::{Context as Level, Env, Reservation, Wake};
use crate::trace::clock::LOCAL;
use crate::trace::entry::Context;
use kernel::cpu::CpuId;
use kernel::sync::atomic::Relaxed;

/// The clock of a writer. Made with preemption off.
struct Clocked<'a>(&'a Buffer);

impl Env for Clocked<'_> {
    #[inline(always)]
    fn now(&self) -> u64 {
        if self.0.clock.load(Relaxed) == LOCAL {
            // SAFETY: writers have preemption off, see `Buffer::record`.
            return unsafe { sys::sched_preempt_off() };
        }
        self.0.other_clock()
    }
}

impl Buffer {
    /// Records an entry of type `kind` that has the 64-bit `fields` after its header. Any context.
    #[inline(always)]
    pub(crate) fn record<const N: usize>(&self, kind: u16, fields: [u64; N]) {
        let context = Context::capture();
        match context.is_plain_task() {
            true => self.record_at(Level::NORMAL, context.header(kind), fields),
            false => self.record_elsewhere(context.rest(), kind, fields),
        }
    }

    /// [`Buffer::record`] in interrupts, and for tasks about which there is more to say.
    #[cold]
    #[inline(never)]
    fn record_elsewhere<const N: usize>(&self, context: Context, kind: u16, fields: [u64; N]) {
        self.record_at(context.level(), context.header(kind), fields);
    }

    /// [`Buffer::record`] of an entry made in `context`, which is complete. Any context.
    pub(crate) fn record_in<const N: usize>(&self, context: Context, kind: u16, fields: [u64; N]) {
        self.record_at(context.level(), context.header(kind), fields);
    }

    #[inline(always)]
    fn record_at<const N: usize>(&self, level: Level, header: u64, fields: [u64; N]) {
        let _stay = PreemptOff::new();
        let ring = self.this_ring();
        // SAFETY: preemption is off while `writer` lives, the ring is this CPU's, and `level` says where we are.
        let writer = unsafe { ring.core.writer(level) };
        let clock = Clocked(self);
        let Some(mut entry) = writer.reserve(&clock, 8 * (N + 1)) else { return };
        put(entry.payload(), 0, header);
        for (place, field) in fields.iter().enumerate() {
            put(entry.payload(), place + 1, *field);
        }
        self.end(ring, entry);
    }

    /// Records an entry of type `kind` made of `parts`, one after the other, after its header. Any context.
    ///
    /// None when it was not: recording is off, it is too long, or there is no room.
    pub(crate) fn write(&self, kind: u16, parts: &[&[u8]]) -> Option<()> {
        let length = parts.iter().fold(0usize, |sum, part| sum.saturating_add(part.len()));
        self.write_with(Context::capture_all(), kind, length, |_, mut rest| {
            for part in parts {
                let Some((place, behind)) = rest.split_at_mut_checked(part.len()) else { break };
                place.copy_from_slice(part);
                rest = behind;
            }
        })
    }

    /// Records an entry of type `kind`, made in `context`, whose `length` bytes after the header `fill` writes; it is
    /// told the entry's time. `fill` runs with preemption off and must neither sleep nor record. Any context.
    ///
    /// None as with [`Buffer::write`].
    pub(crate) fn write_with(
        &self,
        context: Context,
        kind: u16,
        length: usize,
        fill: impl FnOnce(u64, &mut [u8]),
    ) -> Option<()> {
        let _stay = PreemptOff::new();
        let ring = self.this_ring();
        // SAFETY: as in `record_at`.
        let writer = unsafe { ring.core.writer(context.level()) };
        let clock = Clocked(self);
        let mut entry = writer.reserve(&clock, length.saturating_add(8))?;
        let (header, rest) = entry.payload().split_at_mut_checked(8)?;
        header.copy_from_slice(&context.header(kind).to_ne_bytes());
        fill(writer.event_time(), rest);
        self.end(ring, entry);
        Some(())
    }

    /// Commits, and wakes who waits.
    #[inline(always)]
    fn end(&self, ring: &Ring, entry: Reservation<'_, '_, Clocked<'_>>) {
        let wake = entry.commit();
        entry_made::set();
        if wake == Wake::Wanted {
            self.wake(ring);
        }
    }

    #[cold]
    #[inline(never)]
    fn wake(&self, ring: &Ring) {
        if let Some(lane) = self.lane(CpuId::current()) {
            lane.committed(ring);
        }
    }

    /// The ring of this CPU; the caller has preemption off.
    #[inline(always)]
    fn this_ring(&self) -> &Ring {
        // SAFETY: by the type invariant a live ring; it goes only after a grace period, which preemption off holds up.
        unsafe { &*self.rings.this().load(Relaxed) }
    }

    #[cold]
    #[inline(never)]
    fn other_clock(&self) -> u64 {
        (self.clock().read)()
    }
}

/// Stores the 64-bit word `place` of a payload.
#[inline(always)]
fn put(payload: &mut [u8], place: usize, word: u64) {
    if let Some(bytes) = payload.get_mut(8 * place..8 * place + 8) {
        bytes.copy_from_slice(&word.to_ne_bytes());
    }
}
