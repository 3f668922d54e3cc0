// SPDX-License-Identifier: GPL-2.0

//! Checks of the interface for Rust code: errors, and what no sample does. Loading it runs them; it
//! fails with `EINVAL` if one fails, and the log says which.

use core::cell::Cell;
use core::sync::atomic::{AtomicUsize, Ordering};
use kernel::bindings::{hrtimer, hrtimer_mode};
use kernel::prelude::*;
use rtrace::fprobe::Fprobe;
use rtrace::function::{FunctionCallback, FunctionProbe};
use rtrace::graph::GraphProbe;
use rtrace::instance::{Instance, Recorder, TEXT_MAX};
use rtrace::ring_buffer::{Full, RingBuffer};
use rtrace::tracepoint::{TracepointCallback, TracepointProbe};
use rtrace::tracer::{Tracer, TracerRegistration};
use rtrace::{Call, EntryExitCallback, Hit, Return};

module! {
    type: Checks,
    name: "rtrace_interface_check",
    authors: ["The rtrace authors"],
    description: "Checks of the interface for Rust code",
    license: "GPL",
}

/// Logs a line and fails if the condition does not hold.
macro_rules! check {
    ($condition:expr) => {
        if !$condition {
            pr_err!("line {}: {}\n", line!(), stringify!($condition));
            return Err(EINVAL);
        }
    };
}

/// Whether `result` is this error.
fn is<T>(result: Result<T>, error: Error) -> bool {
    result.err() == Some(error)
}

/// Counts its calls in itself, and those of its drop elsewhere.
struct Counter<const WORDS: usize> {
    hits: AtomicUsize,
    dropped: &'static AtomicUsize,
}

impl<const WORDS: usize> Counter<WORDS> {
    fn new(dropped: &'static AtomicUsize) -> Self {
        Self {
            hits: AtomicUsize::new(0),
            dropped,
        }
    }
}

impl<const WORDS: usize> Drop for Counter<WORDS> {
    fn drop(&mut self) {
        self.dropped.fetch_add(1, Ordering::Relaxed);
    }
}

impl<const WORDS: usize> FunctionCallback for Counter<WORDS> {
    fn entry(&self, call: &Call<'_>) {
        self.hits.fetch_add(1, Ordering::Relaxed);
        // The function that is traced: the core must not come back for it for ever.
        call_traced(call.argument(0).unwrap_or(0) as u64);
    }
}

impl<const WORDS: usize> EntryExitCallback for Counter<WORDS> {
    type Data = [u64; WORDS];

    fn entry(&self, call: &Call<'_>) -> Option<Self::Data> {
        // The return of calls with an odd argument is not wanted.
        let is_wanted = call.argument(0)? & 1 == 0 && is_somewhere(call);
        is_wanted.then_some([0x1122_3344_5566_7788; WORDS])
    }

    fn exit(&self, data: Self::Data, ret: &Return<'_>) {
        let square = (0..10).step_by(2).any(|base| base * base == ret.value());
        if square && is_somewhere(ret) && data.iter().all(|word| *word == 0x1122_3344_5566_7788) {
            self.hits.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// What is asked of both ends of a call.
fn is_somewhere(hit: &Hit<'_>) -> bool {
    hit.function() != 0 && hit.caller() != 0
}

/// Calls the function that the checks trace. Nobody else calls it often.
fn call_traced(base: u64) -> u64 {
    // SAFETY: the function has no preconditions.
    unsafe { kernel::bindings::int_pow(base, 2) }
}

/// Paths that functions of the `kernel` crate have.
const RUST_PATHS: &CStr = c"kernel::*";

fn functions() -> Result {
    static DROPPED: AtomicUsize = AtomicUsize::new(0);
    let probe = |patterns: &[&CStr]| {
        let counter = Counter::<1>::new(&DROPPED);
        KBox::pin_init(FunctionProbe::new(patterns, counter), GFP_KERNEL)
    };
    check!(is(probe(&[]), EINVAL));
    check!(is(probe(&[c"there_is_no_such_function"]), EINVAL));
    check!(is(probe(&[c"int_pow", c"nor_is_this"]), EINVAL));
    check!(is(probe(&[c"!int_pow"]), EINVAL));
    check!(is(probe(&[c"int_pow", c"!int_*"]), EINVAL));
    check!(is(probe(&[c"5"]), EINVAL));
    check!(is(probe(&[c"*:mod:rtrace_interface_check"]), EINVAL));
    check!(is(probe(&[c"int_pow:traceoff"]), EINVAL));
    check!(is(probe(&[c"kernel::there_is_no::such_function"]), EINVAL));
    // What could not be registered is dropped, once.
    check!(DROPPED.load(Ordering::Relaxed) == 9);
    drop(probe(&[RUST_PATHS])?);
    check!(DROPPED.load(Ordering::Relaxed) == 10);

    let probe = probe(&[c"int_pow"])?;
    check!(call_traced(3) == 9);
    // Once by the call, once by that of the callback: the guard takes this for an interrupt's.
    check!(probe.callback().hits.load(Ordering::Relaxed) == 2);
    drop(probe);
    check!(DROPPED.load(Ordering::Relaxed) == 11);
    Ok(())
}

fn fprobes() -> Result {
    static DROPPED: AtomicUsize = AtomicUsize::new(0);
    fn probe<const WORDS: usize>(pattern: &CStr) -> Result<Pin<KBox<Fprobe<Counter<WORDS>>>>> {
        let counter = Counter::<WORDS>::new(&DROPPED);
        KBox::pin_init(Fprobe::new(pattern, counter), GFP_KERNEL)
    }
    check!(is(probe::<1>(c"there_is_no_such_function"), ENOENT));
    check!(is(probe::<1000>(c"int_pow"), E2BIG));
    check!(DROPPED.load(Ordering::Relaxed) == 2);
    probe::<1>(RUST_PATHS)?;

    // With no data, and with as many words as three.
    let (none, three) = (probe::<0>(c"int_pow")?, probe::<3>(c"int_pow")?);
    for number in 0..10 {
        call_traced(number);
    }
    check!(none.callback().hits.load(Ordering::Relaxed) == 5);
    check!(three.callback().hits.load(Ordering::Relaxed) == 5);
    Ok(())
}

fn graphs() -> Result {
    static DROPPED: AtomicUsize = AtomicUsize::new(0);
    fn probe<const WORDS: usize>(
        patterns: &[&CStr],
    ) -> Result<Pin<KBox<GraphProbe<Counter<WORDS>>>>> {
        let counter = Counter::<WORDS>::new(&DROPPED);
        KBox::pin_init(GraphProbe::new(patterns, counter), GFP_KERNEL)
    }
    check!(is(probe::<1>(&[]), EINVAL));
    check!(is(
        probe::<1>(&[c"int_pow", c"there_is_no_such_function"]),
        EINVAL
    ));
    check!(is(probe::<1>(&[c"!int_pow"]), EINVAL));
    check!(is(probe::<33>(&[c"int_pow"]), E2BIG));
    check!(DROPPED.load(Ordering::Relaxed) == 4);
    probe::<1>(&[RUST_PATHS])?;

    // With no data, and with as many as there can be.
    let (none, most) = (
        probe::<0>(&[c"int_pow"])?,
        probe::<32>(&[c"int_po[w]", c"int_sqrt"])?,
    );
    for number in 0..10 {
        call_traced(number);
    }
    check!(none.callback().hits.load(Ordering::Relaxed) == 5);
    check!(most.callback().hits.load(Ordering::Relaxed) == 5);
    drop(none);
    call_traced(0);
    check!(most.callback().hits.load(Ordering::Relaxed) == 6);
    drop(most);

    // There are so many users, and no more; those that go make room.
    let mut users = KVec::new();
    let refused = loop {
        match probe::<1>(&[c"int_pow"]) {
            Ok(user) => users.push(user, GFP_KERNEL)?,
            Err(error) => break error,
        }
    };
    check!(refused == ENOSPC && (8..=16).contains(&users.len()));
    call_traced(2);
    check!(users
        .iter()
        .all(|user| user.callback().hits.load(Ordering::Relaxed) == 1));
    drop(users);
    check!(probe::<1>(&[c"int_pow"]).is_ok());
    Ok(())
}

fn ring_buffers() -> Result {
    fn make<T: Copy + Send>(bytes: usize, full: Full) -> Result<Pin<KBox<RingBuffer<T>>>> {
        let key = kernel::static_lock_class!();
        KBox::pin_init(RingBuffer::new(bytes, full, key), GFP_KERNEL)
    }
    check!(is(make::<[u8; 8192]>(64 << 10, Full::Refuse), E2BIG));

    // All that was written comes back, of each size, also where it is no multiple of a word.
    let odd = make::<[u8; 13]>(64 << 10, Full::Refuse)?;
    for number in 0..100 {
        odd.write(&[number; 13])?;
    }
    let expected = Cell::new(0);
    let mut right = 0;
    odd.consume_all(|_, record| {
        // The task may have gone to another CPU: numbers rise, but for that.
        right += usize::from(record.value == [record.value[0]; 13] && record.lost == 0);
        expected.set(expected.get() + usize::from(record.value[0]));
    });
    check!(right == 100 && expected.get() == 99 * 100 / 2);
    check!(odd.consume(0).is_none() && odd.consume(u32::MAX).is_none());
    check!(odd.entries(u32::MAX) == 0);

    // What is discarded is not there; a record in the middle of another comes as well or is refused.
    odd.write_with(|| None)?;
    let inner = Cell::new(Ok(()));
    odd.write_with(|| {
        inner.set(odd.write(&[1; 13]));
        Some([2; 13])
    })?;
    let mut sum = 0;
    odd.consume_all(|_, record| sum += record.value[0]);
    check!(sum == if inner.get().is_ok() { 3 } else { 2 });

    // Full: one refuses, the other loses the oldest.
    let (refusing, overwriting) = (
        make::<u64>(8192, Full::Refuse)?,
        make::<u64>(8192, Full::Overwrite)?,
    );
    let mut refused = 0u64;
    for number in 0..10_000u64 {
        refused += u64::from(is(refusing.write(&number), EBUSY));
        overwriting.write(&number)?;
    }
    let (mut kept, mut lost, mut last) = (0u64, 0usize, 0u64);
    refusing.consume_all(|_, _| kept += 1);
    check!(refused > 0 && kept + refused == 10_000);
    kept = 0;
    overwriting.consume_all(|_, record| {
        kept += 1;
        lost += record.lost;
        last = last.max(record.value);
    });
    check!(last == 9999 && lost > 0 && kept + lost as u64 == 10_000);
    Ok(())
}

fn instances() -> Result {
    for name in [c"", c".", c"..", c"rtrace/check"] {
        check!(is(Instance::open(name), EINVAL) && is(Instance::find(name), EINVAL));
    }
    check!(is(Instance::find(c"rtrace_interface_check"), ENOENT));
    let one = Instance::open(c"rtrace_interface_check")?;
    let two = Instance::find(c"rtrace_interface_check")?;
    one.print(format_args!("{:0>1$}", 7, 2 * TEXT_MAX))?;
    one.print(format_args!(""))?;
    check!(is(two.remove(), EBUSY));

    // What was written is read in this order, as are texts; what is too long was not written.
    let mut reader = one.reader()?;
    check!(is(one.reader(), EBUSY));
    let texts = core::iter::from_fn(|| Some(reader.consume().ok()??.text.len()));
    check!(texts.filter(|length| *length > TEXT_MAX).count() == 1);
    for number in 0..100u32 {
        one.write(number, &[number as u8; 12])?;
    }
    one.write(100, &[])?;
    check!(is(one.write(101, &[0; 8192]), EBUSY));
    let (mut count, mut rising, mut last) = (0, 0, 0);
    while let Some(entry) = reader.consume()? {
        let right = match entry.written() {
            Some((100, bytes)) => count == 100 && bytes.is_empty(),
            Some((number, bytes)) => number == count && bytes == [number as u8; 12],
            None => false,
        };
        check!(right && entry.lost == 0 && entry.pid() == kernel::current!().pid());
        rising += u32::from(entry.time >= last);
        (count, last) = (count + 1, entry.time);
    }
    check!(count == 101 && rising == 101);
    let three = Instance::open(c"rtrace_interface_check")?;
    drop(one);
    check!(is(three.remove(), EBUSY));
    let one = Instance::open(c"rtrace_interface_check")?;
    drop(reader);
    one.remove()
}

/// A tracer that starts as often as it may.
struct Few {
    starts: AtomicUsize,
    ends: &'static AtomicUsize,
}

struct Started {
    to: Recorder,
    ends: &'static AtomicUsize,
}

impl Drop for Started {
    fn drop(&mut self) {
        self.ends.fetch_add(1, Ordering::Relaxed);
        let _ = self.to.write(2, b"ends");
    }
}

impl Tracer for Few {
    const NAME: &'static CStr = c"rtrace_check_few";

    type Running = Started;

    fn start(&self, to: Recorder) -> Result<Started> {
        let left = self.starts.load(Ordering::Relaxed).checked_sub(1);
        self.starts.store(left.ok_or(EXDEV)?, Ordering::Relaxed);
        to.write(1, b"begins")?;
        Ok(Started {
            to,
            ends: self.ends,
        })
    }
}

/// A tracer without state, of a name that is taken or none.
macro_rules! refused {
    ($name:literal, $module:expr) => {{
        struct Refused;
        impl Tracer for Refused {
            const NAME: &'static CStr = $name;
            type Running = ();
            fn start(&self, _: Recorder) -> Result {
                Ok(())
            }
        }
        TracerRegistration::new($module, Refused)
    }};
}

rtrace::tracepoint! {
    /// A timer starts; the second argument is an `enum` in C.
    struct HrtimerStart = hrtimer_start(*mut hrtimer, hrtimer_mode, bool);
}

/// Does nothing at a hit.
struct Ignores;

impl TracepointCallback<HrtimerStart> for Ignores {
    fn hit(&self, _: (*mut hrtimer, hrtimer_mode, bool)) {}
}

fn tracepoints() -> Result {
    let (first, second) = (
        TracepointProbe::<HrtimerStart, _>::new(Ignores),
        TracepointProbe::<HrtimerStart, _>::new(Ignores),
    );
    if cfg!(CONFIG_CFI) {
        check!(is(first, EINVAL) && is(second, EINVAL));
    } else {
        check!(first.is_ok() && second.is_ok());
    }
    Ok(())
}

fn tracers(module: &'static ThisModule) -> Result {
    static ENDS: AtomicUsize = AtomicUsize::new(0);
    check!(is(refused!(c"nop", module), EEXIST));
    check!(is(refused!(c"", module), EINVAL));
    check!(is(refused!(c"two words", module), EINVAL));
    check!(is(refused!(c"caf\u{e9}", module), EINVAL));
    let few = Few {
        starts: AtomicUsize::new(2),
        ends: &ENDS,
    };
    let few = TracerRegistration::new(module, few)?;
    check!(is(refused!(c"rtrace_check_few", module), EEXIST));
    drop(refused!(c"rtrace_check_other", module)?);
    drop(refused!(c"rtrace_check_other", module)?);

    let instance = Instance::open(c"rtrace_interface_check")?;
    check!(is(instance.set_tracer(c"rtrace_check_fe"), EINVAL));
    instance.set_tracer(Few::NAME)?;
    // It is so already.
    instance.set_tracer(Few::NAME)?;
    check!(few.tracer().starts.load(Ordering::Relaxed) == 1 && ENDS.load(Ordering::Relaxed) == 0);
    // nop begins with an empty buffer.
    instance.set_tracer(c"nop")?;
    check!(ENDS.load(Ordering::Relaxed) == 1 && instance.reader()?.consume()?.is_none());
    instance.set_tracer(Few::NAME)?;
    // One that does not start leaves what was current, of which this is started anew.
    let other = Instance::open(c"rtrace_interface_check_2")?;
    check!(is(other.set_tracer(Few::NAME), EXDEV));
    other.remove()?;
    check!(is(instance.set_tracer(c"rtrace_check_other"), EINVAL));

    // Where it is current it ends with its registration.
    drop(few);
    check!(ENDS.load(Ordering::Relaxed) == 2);
    check!(is(instance.set_tracer(Few::NAME), EINVAL));
    let mut reader = instance.reader()?;
    let mut written = 0;
    while let Some(entry) = reader.consume()? {
        written = written * 10 + entry.written().map_or(9, |(id, _)| id);
    }
    check!(written == 12);
    drop(reader);
    instance.remove()
}

#[cfg(CONFIG_DYNAMIC_EVENTS)]
mod events;

struct Checks;

impl kernel::Module for Checks {
    fn init(module: &'static ThisModule) -> Result<Self> {
        functions()?;
        fprobes()?;
        graphs()?;
        ring_buffers()?;
        instances()?;
        tracers(module)?;
        tracepoints()?;
        #[cfg(CONFIG_DYNAMIC_EVENTS)]
        events::check(module)?;
        pr_info!("all passed\n");
        Ok(Self)
    }
}
