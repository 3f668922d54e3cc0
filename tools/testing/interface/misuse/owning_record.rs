// SPDX-License-Identifier: GPL-2.0

//! Records that are overwritten are not dropped: one that owns memory is refused.

use kernel::prelude::*;
use rtrace::ring_buffer::RingBuffer;

struct Keeper(Pin<KBox<RingBuffer<KVec<u8>>>>);
