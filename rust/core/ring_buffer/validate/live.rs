// SPDX-License-Identifier: GPL-2.0

//! The checks that writers make.

use super::{check, Stamp};
use crate::core::ring_buffer::cpu_buffer::CpuBuffer;
use crate::core::ring_buffer::word::{Header, Position};
use crate::core::ring_buffer::{Context, Env};

impl CpuBuffer {
    /// Checks the sub-buffer of the event that was just reserved, unless its writer interrupts
    /// another one. Called by the writer, which has written the event's header.
    pub(in crate::core::ring_buffer) fn validate<E: Env>(&self, env: &E) {
        let position = Position(self.write.position.get());
        let stamp = self.write.stamp.get();
        // Of an unknown time only the order would be known.
        if self.write.stamp_position.get() == position.0 {
            self.validate_up_to(env, position, Stamp::Exactly(stamp));
        }
    }

    /// Checks the sub-buffer that a writer leaves at `end` for another one; `now` is the time of
    /// its event there. Called by the writer.
    pub(in crate::core::ring_buffer) fn validate_left<E: Env>(
        &self,
        env: &E,
        end: Position,
        now: u64,
    ) {
        // The padding that closes a sub-buffer counts one unit.
        let closed = end.used() == u64::from(self.setup.capacity);
        self.validate_up_to(env, end, Stamp::AtMost(now.wrapping_add(closed.into())));
    }

    fn validate_up_to<E: Env>(&self, env: &E, end: Position, stamp: Stamp) {
        // Records of an interrupted writer may have no header yet.
        if end.used() == 0 || !Context::is_outermost(self.setup.context.get()) {
            return;
        }
        let (Stamp::Exactly(now) | Stamp::AtMost(now) | Stamp::AtLeast(now)) = stamp;
        // Records cannot say that the clock has gone backwards. Above 2^59 units a discarded event
        // may count one unit, see `discard.rs`.
        let may_be_late =
            self.commit.time_went_backwards.get() != 0 || now >> Header::TIME_BITS != 0;
        let stamp = match stamp {
            stamp if !may_be_late => stamp,
            Stamp::Exactly(time) => Stamp::AtLeast(time),
            _ => return,
        };
        let sub_buffer = self.sub_buffer(end.id());
        // SAFETY: a sub-buffer's memory starts with its timestamp, aligned to 8 bytes, and its
        // records have at least `used` bytes (the type's invariants). Up to there all is written:
        // this writer has interrupted none, and those that have interrupted it are done. No other
        // writer takes the sub-buffer before this one has published its event, and none changes
        // what is written.
        let (start, records) = unsafe {
            let start = sub_buffer.data().cast::<u64>().read();
            let records = sub_buffer.records().cast_const();
            let records = core::slice::from_raw_parts(records, end.used() as usize);
            (start, records)
        };
        if let Err(mismatch) = check(start, records, stamp) {
            self.disable();
            env.mismatch(&mismatch);
        }
    }
}
