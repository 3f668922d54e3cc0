// SPDX-License-Identifier: GPL-2.0

//! `trace_pipe` and `per_cpu/cpuN/trace_pipe`: events as text. A read consumes the events.
//!
//! There is one reader of all CPUs, or one reader per CPU
//! ([`Readers`](crate::trace::instance::readers::Readers)). A read waits until there is an event.
//! It then returns as many whole lines as fit into about two pages. It returns 0 when recording is
//! off, the buffer is empty, and an earlier read returned something. So a reader can start before
//! recording starts, and `cat` ends after recording has ended.
//!
//! Several tasks may read one open file at a time. What one of them has printed stays until it
//! is copied to one of them, as its events are consumed already.

use super::{Node, Place};
use crate::core::format::{LineBuf, Out};
use crate::core::parse::options::Flag;
use crate::kernel::fs::pseudo_fs::{
    OpenFile, OpenFlags, Opening, PollCall, PollEvents, ReadCall, Seek,
};
use crate::kernel::registrations::Held;
use crate::trace::instance::Instance;
use crate::trace::output::cursor::{Ahead, Cursor};
use crate::trace::output::source::Consume;
use crate::trace::output::tracer::{self, TracerOutput};
use crate::trace::output::{line, Record, Style, LINE_ROOM};
use core::fmt;
use kernel::sync::atomic::{Atomic, Relaxed};
use kernel::{new_mutex, prelude::*, sync::Mutex};

/// The row of the file.
pub(crate) struct TracePipe;

impl Node for TracePipe {
    fn open(&'static self, at: &Place, _how: &OpenFlags) -> Result<Opening> {
        let claim = Claim::new(at)?;
        let mut pipe = Pipe {
            style: Style::of(&at.instance),
            output: tracer::new(at.instance.tracer().name())?,
            read_before: false,
            text: KVVec::from_elem(0, LINE_ROOM, GFP_KERNEL)?,
            copied: 0,
            len: 0,
            record: KVVec::new(),
            ahead: KVVec::new(),
            line: KVVec::from_elem(0, LINE_ROOM, GFP_KERNEL)?,
            held: 0,
        };
        pipe.print(|output, text| output.pipe_opened(text));
        let has_text = Atomic::new(pipe.has_text());
        Opening::pin_init(try_pin_init!(OpenPipe {
            pipe <- new_mutex!(pipe),
            has_text,
            claim,
        }? Error))
    }
}

/// The right to consume the events of a place's buffer.
struct Claim(Place);

impl Claim {
    fn new(at: &Place) -> Result<Self> {
        at.instance.readers().open_pipe(at.cpu)?;
        Ok(Self(at.clone()))
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.0.instance.readers().close_pipe(self.0.cpu);
    }
}

/// The open file.
#[pin_data]
struct OpenPipe {
    #[pin]
    pipe: Mutex<Pipe>,
    /// [`Pipe::has_text`], for those who must not wait for a reader whose memory is being faulted in.
    has_text: Atomic<bool>,
    claim: Claim,
}

/// Text that is printed but not yet copied to the reader, and memory for printing.
struct Pipe {
    style: Style,
    output: Option<KBox<dyn TracerOutput>>,
    read_before: bool,
    text: KVVec<u8>,
    /// `text[copied..len]` is not yet copied to the reader.
    copied: usize,
    len: usize,
    record: KVVec<u8>,
    ahead: KVVec<u8>,
    /// The line printed last.
    line: KVVec<u8>,
    /// This many bytes of `line` did not fit into `text`. Their event is consumed already, so the
    /// next read starts with them.
    held: usize,
}

impl OpenPipe {
    fn at(&self) -> &Place {
        &self.claim.0
    }

    /// Copies printed text to the reader. Returns 0 if there is none.
    #[inline]
    fn hand_over(&self, pipe: &mut Pipe, call: &mut ReadCall<'_>) -> Result<usize> {
        let copied = pipe.hand_over(call);
        self.has_text.store(pipe.has_text(), Relaxed);
        copied
    }

    /// Waits for an event, or text that another reader has left. Returns false at the end: recording
    /// is off, and an earlier read returned something. Errors: `EAGAIN` where `call` is not to wait, and
    /// the errors of the wait.
    fn wait(&self, call: &ReadCall<'_>) -> Result<bool> {
        let Place { instance, cpu } = self.at();
        while instance.buffer().is_empty(*cpu) {
            let read_before = {
                let pipe = self.pipe.lock();
                if pipe.has_text() {
                    return Ok(true);
                }
                pipe.read_before
            };
            if call.nonblock() {
                return Err(EAGAIN);
            }
            if !instance.tracing_on() && read_before {
                return Ok(false);
            }
            instance.buffer().wait(*cpu, 0)?;
        }
        self.pipe.lock().read_before = true;
        Ok(true)
    }
}

impl OpenFile for OpenPipe {
    fn read(&self, call: &mut ReadCall<'_>) -> Result<usize> {
        if call.is_empty() {
            return Ok(0);
        }
        loop {
            let has_text = {
                let mut pipe = self.pipe.lock();
                pipe.precede(&self.at().instance);
                let copied = self.hand_over(&mut pipe, call)?;
                if copied > 0 {
                    return Ok(copied);
                }
                pipe.has_text()
            };
            let is_over = !has_text && (self.at().instance.begin_if_empty() || !self.wait(call)?);
            if is_over {
                return Ok(0);
            }
            let mut pipe = self.pipe.lock();
            pipe.fill(self.at(), call.len());
            let copied = self.hand_over(&mut pipe, call)?;
            if copied > 0 {
                return Ok(copied);
            }
        }
    }

    fn seek(&self) -> Seek {
        Seek::Never
    }

    fn polls(&self) -> bool {
        true
    }

    fn poll<'f>(&'f self, call: &PollCall<'f>) -> PollEvents {
        let Place { instance, cpu } = self.at();
        if instance.options().has(Flag::Block) || self.has_text.load(Relaxed) {
            return PollEvents::READABLE;
        }
        instance
            .buffer()
            .poll(*cpu, instance.buffer_percent(), call)
    }
}

impl Pipe {
    /// Whether `text` holds bytes that are not yet copied.
    fn has_text(&self) -> bool {
        self.held != 0 || self.copied < self.len
    }

    /// Copies printed text to the reader. Returns 0 if there is none.
    #[inline]
    fn hand_over(&mut self, call: &mut ReadCall<'_>) -> Result<usize> {
        let text = self.text.get(self.copied..self.len).unwrap_or(&[]);
        if text.is_empty() {
            return Ok(0);
        }
        let done = call.put(text)?;
        self.copied = self.copied.saturating_add(done);
        Ok(done)
    }

    /// Fills `text`, all of which is copied, with what the tracer prints.
    fn print(
        &mut self,
        f: impl FnOnce(&mut (dyn TracerOutput + 'static), &mut LineBuf<'_>) -> fmt::Result,
    ) {
        let mut text = LineBuf::new(&mut self.text);
        if let Some(output) = self.output.as_deref_mut() {
            // The room is larger than what a tracer prints here.
            let _ = f(output, &mut text);
        }
        (self.copied, self.len) = (0, text.as_bytes().len());
    }

    /// Prints what the tracer wants this read to return before events, unless there is text.
    fn precede(&mut self, instance: &Instance) {
        if !self.has_text() {
            self.print(|output, text| output.pipe_read(instance, text));
        }
    }

    /// Prints events until there are `wanted` bytes, the room is full or the buffer is empty. Does
    /// nothing while `text` holds bytes that are not yet copied.
    fn fill(&mut self, at: &Place, wanted: usize) {
        if self.copied < self.len {
            return;
        }
        (self.copied, self.len) = (0, 0);
        self.style = self.style.refreshed(&at.instance);
        let mut cursor = Cursor::new(Consume::new(at.instance.buffer()), at.cpu, 1);
        let mut text = LineBuf::new(&mut self.text);
        // From here on nothing waits for a lock that is held while events are unregistered.
        let held = Held::new();
        // The room is larger than one line.
        let _ = text.bytes(
            self.line
                .get(..core::mem::take(&mut self.held))
                .unwrap_or(&[]),
        );
        while text.as_bytes().len() < wanted {
            let Some((cpu, head)) = cursor.next(&mut self.record) else {
                break;
            };
            let record = Record {
                held: held.as_ref(),
                ..cursor.record(cpu, &head, &self.record)
            };
            let mut ahead = Ahead {
                cursor: &mut cursor,
                cpu,
                current: Some(head),
                next: None,
                store: &mut self.ahead,
            };
            let output = self.output.as_deref_mut();
            let mut line = LineBuf::new(&mut self.line);
            if line::write(&mut line, &record, &self.style, output, &mut ahead, None).is_err() {
                line.close_too_big();
            }
            let (current, line) = (ahead.current, line.as_bytes());
            let fits = line.len() <= text.room();
            // An event whose line does not fit stays in the buffer, unless the tracer has already
            // consumed it to see the next event, or prints a line by the ones before: it would print
            // this one otherwise the second time.
            let takes = fits || self.output.is_some();
            let mine = current.is_none_or(|head| takes && cursor.pass(cpu, &head));
            if fits && mine {
                let _ = text.bytes(line);
            } else if !fits {
                self.held = if mine { line.len() } else { 0 };
                break;
            }
        }
        self.len = text.as_bytes().len();
    }
}
