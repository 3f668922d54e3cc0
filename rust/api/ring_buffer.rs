// SPDX-License-Identifier: GPL-2.0

//! Ring buffers: per CPU, lock-free for writers in any context.
//!
//! C header: `include/linux/ring_buffer.h`.

use core::marker::PhantomData;
use core::mem::size_of;
use core::ptr::NonNull;
use kernel::bindings;
use kernel::prelude::*;
use kernel::sync::{LockClassKey, Mutex};

/// What happens when a CPU's part is full.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Full {
    /// The oldest records make room.
    Overwrite,
    /// New records are refused.
    Refuse,
}

/// A record that was read.
#[derive(Clone, Copy)]
pub struct Record<T> {
    /// When it was written: nanoseconds of `trace_clock_local()`, which are those of the trace's
    /// default clock.
    pub time: u64,
    /// How many records of this CPU were overwritten before it, since the one read last.
    pub lost: usize,
    /// What was written.
    pub value: T,
}

/// A ring buffer of one's own, with records of type `T`. It belongs to no instance.
///
/// Records are plain data (`Copy`): those that are never read are not dropped.
///
/// # Examples
///
/// ```
/// use kernel::prelude::*;
/// use rtrace::ring_buffer::{Full, RingBuffer};
///
/// let key = kernel::static_lock_class!();
/// let buffer = KBox::pin_init(RingBuffer::new(64 << 10, Full::Overwrite, key), GFP_KERNEL)?;
/// buffer.write(&1u32)?;
/// buffer.write_with(|| Some(2u32))?;
/// let mut sum = 0;
/// buffer.consume_all(|_cpu, record| sum += record.value);
/// assert_eq!(sum, 3);
/// # Ok::<(), Error>(())
/// ```
#[pin_data(PinnedDrop)]
pub struct RingBuffer<T: Copy + Send + 'static> {
    buffer: NonNull<bindings::trace_buffer>,
    /// A record that is read stays in the buffer until the next is asked for.
    #[pin]
    reading: Mutex<()>,
    _records: PhantomData<T>,
}

// SAFETY: the buffer belongs to no thread; its records are `Send`.
unsafe impl<T: Copy + Send> Send for RingBuffer<T> {}
// SAFETY: writers need no lock, readers take one; a record is copied out for each reader and only
// once, so `Send` suffices.
unsafe impl<T: Copy + Send> Sync for RingBuffer<T> {}

impl<T: Copy + Send + 'static> RingBuffer<T> {
    /// Makes a buffer with about `bytes` for each CPU. `key` is the class of its locks,
    /// `kernel::static_lock_class!()`. Task context, may sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; `E2BIG` if no `T` fits into it.
    pub fn new(
        bytes: usize,
        full: Full,
        key: Pin<&'static LockClassKey>,
    ) -> impl PinInit<Self, Error> {
        try_pin_init!(Self {
            buffer: Self::allocate(bytes, full, key)?,
            // Not `new_mutex!`: its static would belong to this crate, which has no object code.
            reading <- Mutex::new((), c"rtrace::RingBuffer", key),
            _records: PhantomData,
        }? Error)
    }

    fn allocate(
        bytes: usize,
        full: Full,
        key: Pin<&'static LockClassKey>,
    ) -> Result<NonNull<bindings::trace_buffer>> {
        let flags = match full {
            Full::Overwrite => bindings::ring_buffer_flags_RB_FL_OVERWRITE,
            Full::Refuse => 0,
        };
        // SAFETY: the key is static.
        let made = unsafe { bindings::__ring_buffer_alloc(bytes, flags, key.as_ptr()) };
        let buffer = NonNull::new(made).ok_or(ENOMEM)?;
        // SAFETY: the buffer was made just now; if no record fits, nobody else knows it.
        unsafe {
            if Self::LENGTH > bindings::ring_buffer_max_event_size(buffer.as_ptr()) {
                bindings::ring_buffer_free(buffer.as_ptr());
                return Err(E2BIG);
            }
        }
        Ok(buffer)
    }

    /// Bytes of a record; there are no empty ones.
    const LENGTH: usize = if size_of::<T>() == 0 {
        1
    } else {
        size_of::<T>()
    };

    /// Writes a record. Any context, NMIs too.
    ///
    /// # Errors
    ///
    /// `EBUSY` if it is refused: the buffer is full and does not overwrite, or this context already
    /// is in the middle of a record of this buffer.
    #[inline]
    pub fn write(&self, value: &T) -> Result {
        self.write_with(|| Some(*value))
    }

    /// Reserves room for a record, which also gives it its time, then commits what `make` returns,
    /// or discards it for `None`. Preemption is off meanwhile: `make` must not sleep, and so not read
    /// this buffer. Any context, NMIs too.
    ///
    /// # Errors
    ///
    /// As for [`Self::write`]; `make` is not called then.
    #[inline]
    pub fn write_with(&self, make: impl FnOnce() -> Option<T>) -> Result {
        let buffer = self.buffer.as_ptr();
        // SAFETY: the buffer is there as long as `self` is.
        let event = unsafe { bindings::ring_buffer_lock_reserve(buffer, Self::LENGTH) };
        if event.is_null() {
            return Err(EBUSY);
        }
        match make() {
            // SAFETY: the record was reserved above by this context and has room for a `T`, of any
            // alignment. What `make` has recorded itself is committed already.
            Some(value) => unsafe {
                let place = bindings::ring_buffer_event_data(event).cast::<T>();
                place.write_unaligned(value);
                bindings::ring_buffer_unlock_commit(buffer);
            },
            // SAFETY: as above.
            None => unsafe { bindings::ring_buffer_discard_commit(buffer, event) },
        }
        Ok(())
    }

    /// Takes the oldest record of a CPU. `None` if there is none, or no such CPU. Task context, may
    /// sleep.
    pub fn consume(&self, cpu: u32) -> Option<Record<T>> {
        let cpu = c_int::try_from(cpu).ok()?;
        let (mut time, mut lost) = (0u64, 0usize);
        let _reading = self.reading.lock();
        // SAFETY: the buffer is there as long as `self` is; an unknown CPU has no records. The event
        // stays until the next one is asked for, which the lock prevents; nobody resizes or resets
        // this buffer. All its records were written by `write_with`, so they have a `T` each.
        unsafe {
            let event =
                bindings::ring_buffer_consume(self.buffer.as_ptr(), cpu, &mut time, &mut lost);
            if event.is_null() {
                return None;
            }
            let value = bindings::ring_buffer_event_data(event).cast::<T>();
            Some(Record {
                time,
                lost,
                value: value.read_unaligned(),
            })
        }
    }

    /// Calls `f` with the number of a CPU and a record, for all records, CPU by CPU. Those that are
    /// written meanwhile may be among them. Task context, may sleep.
    pub fn consume_all(&self, mut f: impl FnMut(u32, Record<T>)) {
        for cpu in 0..kernel::cpu::nr_cpu_ids() {
            // No more than there were: writers may be as fast as this is.
            for _ in 0..self.entries(cpu) {
                match self.consume(cpu) {
                    Some(record) => f(cpu, record),
                    None => break,
                }
            }
        }
    }

    /// How many records of a CPU can be read. Any context.
    #[inline]
    pub fn entries(&self, cpu: u32) -> usize {
        let Ok(cpu) = c_int::try_from(cpu) else {
            return 0;
        };
        // SAFETY: the buffer is there as long as `self` is; an unknown CPU has no records.
        unsafe { bindings::ring_buffer_entries_cpu(self.buffer.as_ptr(), cpu) }
    }
}

#[pinned_drop]
impl<T: Copy + Send + 'static> PinnedDrop for RingBuffer<T> {
    fn drop(self: Pin<&mut Self>) {
        // SAFETY: the buffer was made for `self`, and nobody has it any more.
        unsafe { bindings::ring_buffer_free(self.buffer.as_ptr()) };
    }
}
