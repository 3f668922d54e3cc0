// SPDX-License-Identifier: GPL-2.0

//! `per_cpu/cpuN/trace_pipe_raw`: the sub-buffers of one CPU in binary form, consumed by reading.
//! `snapshot_raw`: the same for the snapshot.
//!
//! One CPU can have any number of readers; each sub-buffer goes to one of them. A read waits until
//! there is an event and returns one sub-buffer; the next read returns the rest of it. A splice
//! moves full sub-buffers into a pipe without a copy, and waits until `buffer_percent` of the
//! buffer is full. A mapping shows all sub-buffers; an `ioctl(2)` on it gets the next reader page.
//! Closing the file, or `ioctl(2)` number 0, wakes the waiters of this file.
//!
//! Answers to `include/uapi/linux/trace_mmap.h`. Lock order: the mutex of the file, then the locks
//! of the buffer. The file's mutex is not held during a wait.

use super::{Node, Place};
use crate::core::parse::options::Flag;
use crate::core::ring_buffer::Meta;
use crate::kernel::fs::page_file::{Area, Batch, PageFile, SpliceCall};
use crate::kernel::fs::pseudo_fs::{
    OpenFile, OpenFlags, Opening, PollCall, PollEvents, ReadCall, Seek,
};
use crate::trace::buffer::{Buffer, Mapped, Owned, Part, ReadPage};
use crate::trace::instance::{Instance, Side};
use kernel::{
    cpu::CpuId,
    new_mutex,
    prelude::*,
    sync::{
        atomic::{Atomic, Relaxed},
        Arc, Mutex,
    },
};

/// The rows of both files.
pub(crate) struct TracePipeRaw(pub(crate) Side);

impl Node for TracePipeRaw {
    fn open(&'static self, at: &Place, _how: &OpenFlags) -> Result<Opening> {
        let instance = Claimed::new(at.instance.clone());
        let cpu = at.cpu.ok_or(EINVAL)?;
        if self.0 == Side::Snapshot && instance.0.snapshot().is_owned_by_tracer() {
            return Err(EBUSY);
        }
        Opening::pin_init(try_pin_init!(Raw {
            instance,
            side: self.0,
            cpu,
            partial <- new_mutex!(Partial { page: None, copied: 0 }),
            closed: Atomic::new(false),
            wakes: Atomic::new(0),
        }? Error))
    }
}

/// An instance whose tracer cannot change while a reader is open.
struct Claimed(Arc<Instance>);

impl Claimed {
    fn new(instance: Arc<Instance>) -> Self {
        instance.readers().open_raw();
        Self(instance)
    }
}

impl Drop for Claimed {
    fn drop(&mut self) {
        self.0.readers().close_raw();
    }
}

/// The open file.
#[pin_data]
struct Raw {
    instance: Claimed,
    side: Side,
    cpu: CpuId,
    #[pin]
    partial: Mutex<Partial>,
    /// Whether a descriptor of the file was closed. Then no one waits any more.
    closed: Atomic<bool>,
    /// Counts the wake-ups of the waiters.
    wakes: Atomic<u32>,
}

/// A sub-buffer that was read. A part of it may not be copied yet.
struct Partial {
    page: Option<ReadPage>,
    /// `page[copied..]` is not yet copied to the reader.
    copied: usize,
}

impl Raw {
    fn instance(&self) -> &Arc<Instance> {
        &self.instance.0
    }

    fn buffer(&self) -> &Buffer {
        self.instance().side(self.side)
    }

    /// The buffer of the CPU.
    ///
    /// # Errors
    ///
    /// `ENODEV` for a CPU that was never online; `EBUSY` when the current tracer uses the snapshot.
    fn part(&self) -> Result<Part<'_>> {
        if self.side == Side::Snapshot && self.instance().snapshot().is_owned_by_tracer() {
            return Err(EBUSY);
        }
        self.buffer().cpu(self.cpu).ok_or(ENODEV)
    }

    /// Sleeps until the buffer of the CPU is `percent` full or [`Self::wake`] is called. Errors as
    /// the wait of [`Part`].
    fn wait(&self, percent: u32) -> Result {
        let wakes = self.wakes.load(Relaxed);
        let enough = || self.wakes.load(Relaxed) != wakes || self.closed.load(Relaxed);
        self.buffer().wait_or(Some(self.cpu), percent, enough)
    }

    /// Wakes the waiters of this file.
    fn wake(&self) {
        self.wakes.fetch_add(1, Relaxed);
        self.buffer().nudge(self.cpu);
    }

    /// How full, in percent, the buffer of the CPU must be before a reader of whole sub-buffers
    /// wakes.
    fn percent(&self) -> u32 {
        match self.side {
            Side::Live => self.instance().buffer_percent(),
            Side::Snapshot => 0,
        }
    }

    /// Consumes as many full sub-buffers as `call` wants. Returns an empty batch if there are none.
    fn take(&self, call: &mut SpliceCall<'_>) -> Result<Batch> {
        let part = match self.part() {
            // A CPU that was never online has nothing, but cannot be waited for.
            Err(error) if error == ENODEV => return Ok(Batch::new()),
            part => part?,
        };
        let mut taken = Batch::new();
        let mut left = call.len();
        while left > 0 && !part.is_empty() {
            // All memory comes first, so a consumed sub-buffer gets into the pipe.
            let page = taken.reserve().and_then(|()| part.new_read_page());
            let mut page = match page {
                Err(error) if taken.is_empty() => return Err(error),
                Err(_) => break,
                Ok(page) => page,
            };
            let size = page.size();
            if call.pos.checked_rem(size as i64) != Some(0) || left < size {
                if taken.is_empty() {
                    return Err(EINVAL);
                }
                break;
            }
            if !part.read_page(&mut page, size, true) {
                part.put_read_page(page);
                break;
            }
            taken.push(page);
            *call.pos = call.pos.wrapping_add(size as i64);
            left -= size;
        }
        Ok(taken)
    }
}

impl Partial {
    /// Copies the rest of the last sub-buffer, or reads the next one. Returns 0 if there is no
    /// sub-buffer, or if `call` has no room for it.
    fn read(&mut self, part: Part<'_>, call: &mut ReadCall<'_>) -> Result<usize> {
        let left = self
            .page
            .as_ref()
            .map_or(0, |page| page.size().saturating_sub(self.copied));
        if left == 0 {
            let mut page = match self.page.take() {
                Some(page) => page,
                None => part.new_read_page()?,
            };
            part.fit_read_page(&mut page)?;
            let any = part.read_page(&mut page, call.len(), false);
            self.copied = if any { 0 } else { page.size() };
            self.page = Some(page);
        }
        let Some(page) = &mut self.page else {
            return Ok(0);
        };
        let bytes = page.bytes().get(self.copied..).unwrap_or(&[]);
        let done = if bytes.is_empty() {
            0
        } else {
            call.put(bytes)?
        };
        self.copied = self.copied.saturating_add(done);
        *call.pos = call.pos.wrapping_add(done as i64);
        Ok(done)
    }
}

impl OpenFile for Raw {
    fn read(&self, call: &mut ReadCall<'_>) -> Result<usize> {
        if call.is_empty() {
            return Ok(0);
        }
        loop {
            let part = self.part()?;
            let done = self.partial.lock().read(part, call)?;
            if done > 0 || !part.is_empty() || self.closed.load(Relaxed) {
                return Ok(done);
            }
            if self.instance().begin_if_empty() {
                return Ok(0);
            }
            if call.nonblock() {
                return Err(EAGAIN);
            }
            self.wait(0)?;
        }
    }

    fn pages(&self) -> Option<&dyn PageFile> {
        Some(self)
    }

    fn seek(&self) -> Seek {
        Seek::Onward
    }

    /// Nobody waits for a snapshot.
    fn polls(&self) -> bool {
        self.side == Side::Live
    }

    fn poll<'f>(&'f self, call: &PollCall<'f>) -> PollEvents {
        if self.instance().options().has(Flag::Block) {
            return PollEvents::READABLE;
        }
        self.buffer().poll(Some(self.cpu), self.percent(), call)
    }

    fn ioctl(&self, cmd: u32, _arg: usize, nonblock: bool) -> Result<isize> {
        match cmd {
            _ if self.side == Side::Snapshot => return Err(ENOTTY),
            Meta::GET_READER => {
                if !nonblock {
                    self.buffer().wait(Some(self.cpu), self.percent())?;
                }
                let part = self.buffer().cpu(self.cpu).ok_or(EINVAL)?;
                part.lock_reader().next_shown()?;
            }
            0 => self.wake(),
            _ => return Err(ENOTTY),
        }
        Ok(0)
    }

    fn flush(&self) -> Result {
        if self.side == Side::Live {
            self.closed.store(true, Relaxed);
            self.wake();
        }
        Ok(())
    }
}

impl PageFile for Raw {
    fn splice(&self, call: &mut SpliceCall<'_>) -> Result<usize> {
        let mut woken = false;
        loop {
            let taken = self.take(call)?;
            if !taken.is_empty() {
                return call.give(taken);
            }
            if woken || self.instance().begin_if_empty() {
                return Ok(0);
            }
            if call.nonblock() {
                return Err(EAGAIN);
            }
            self.wait(self.percent())?;
            if !self.instance().tracing_on() {
                return Ok(0);
            }
            woken = true;
        }
    }

    fn map(&self, area: &Area<'_>) -> Result<KBox<dyn Send + Sync>> {
        if self.side == Side::Snapshot || !self.instance().can_be_mapped() {
            return Err(ENODEV);
        }
        let instance = self.instance().clone();
        let mapping = KBox::<Mapping>::new_uninit(GFP_KERNEL)?;
        let no_snapshots = NoSnapshots::new(instance.clone())?;
        Ok(mapping.write(Mapping {
            _mapped: Owned::map(instance, Instance::buffer, self.cpu, area)?,
            _no_snapshots: no_snapshots,
        }))
    }
}

/// A mapping of the file. The fields drop in order: the mapping ends before snapshots are allowed
/// again.
struct Mapping {
    _mapped: Owned<Mapped<'static>, Instance>,
    _no_snapshots: NoSnapshots,
}

/// While it lives, no snapshot can be taken; see [`begin_mapping`](crate::trace::instance::snapshot::Snapshot::begin_mapping).
struct NoSnapshots(Arc<Instance>);

impl NoSnapshots {
    /// `EBUSY` while a trigger, a function command or a tracer may take a snapshot.
    fn new(instance: Arc<Instance>) -> Result<Self> {
        instance.snapshot().begin_mapping()?;
        Ok(Self(instance))
    }
}

impl Drop for NoSnapshots {
    fn drop(&mut self) {
        self.0.snapshot().end_mapping();
    }
}
