// SPDX-License-Identifier: GPL-2.0

//! Checks of events: all types of fields, values that are cut, names, and events that end while
//! somebody holds them.

use super::is;
use core::mem::forget;
use core::ptr;
use kernel::bindings;
use kernel::prelude::*;
use kernel::str::BStr;
use rtrace::event::{Event, Fields};
use rtrace::instance::{Instance, Reader};

rtrace::event! {
    /// Each type of fields, with holes between them.
    struct All<'a> = rtrace_check:all {
        a: u8,
        b: i64,
        c: i8,
        d: u16,
        e: i16,
        f: &'a str,
        g: u32,
        h: i32,
        i: &'a [u64],
        j: u64,
        k: usize,
        l: isize,
        m: bool,
        n: [u8; 3],
        o: &'a CStr,
        p: [i64; 2],
        q: &'a BStr,
        r: &'a [i16],
    }
    print("100% {{\"{a} {b} {c:4} {d:#06x} {e:05}\\}} [{f:5}] {g:08X} {h} {i} {j:x} {k:#o} {l} {m} {n} {o} {p} {q} {r}")
}

rtrace::event! {
    /// The name of a file in the directory of each event.
    struct Enable = rtrace_check:enable { a: u8 }
    print("{a}")
}

rtrace::event! {
    /// The name of a common field.
    struct Common = rtrace_check:common { common_pid: u32 }
    print("")
}

rtrace::event! {
    /// Only a text, with a name that Rust has for itself.
    struct Line<'a> = rtrace_check:line { r#type: &'a str }
    print("{type}")
}

rtrace::event! {
    /// Nobody ends this one but the core.
    struct Leaked = rtrace_check:leaked { a: u8 }
    print("{a}")
}

const SYSTEM: &CStr = c"rtrace_check";

fn enabled(instance: &Instance, name: &CStr) -> Result {
    instance.set_event(SYSTEM, Some(name), true)
}

/// The text of the next entry of events, without the prefix; the bytes of its fields.
fn next<'a>(reader: &'a mut Reader, name: &str) -> Option<(&'a [u8], &'a [u8])> {
    let entry = reader.consume().ok().flatten()?;
    let text: &[u8] = entry.text;
    let start = text
        .windows(name.len())
        .position(|at| at == name.as_bytes())?;
    Some((text.get(start + name.len()..)?, entry.bytes))
}

fn types(module: &'static ThisModule, instance: &Instance) -> Result {
    let all = Event::<All<'_>>::new(module)?;
    check!(is(Event::<All<'_>>::new(module), EEXIST));
    let entry = || All {
        a: 255,
        b: i64::MIN,
        c: -128,
        d: 0xabc,
        e: -7,
        f: "ab\0c",
        g: 0xbeef,
        h: i32::MIN,
        i: &[1, u64::MAX],
        j: u64::MAX,
        k: 8,
        l: -1,
        m: true,
        n: [1, 2, 255],
        o: c"",
        p: [-1, 1],
        q: BStr::from_bytes(b"caf\xe9"),
        r: &[-1],
    };
    check!(!all.is_wanted());
    all.record(|| -> All<'_> { unreachable!() });
    enabled(instance, c"all")?;
    check!(all.is_wanted());
    all.record(entry);
    all.record(|| All {
        i: &[],
        f: "",
        ..entry()
    });
    let mut reader = instance.reader()?;
    let behind: &[u8] = b" 0000BEEF -2147483648 ";
    for values in [&b"[ab   ]"[..], b"[     ]"] {
        let Some((text, bytes)) = next(&mut reader, "all: ") else {
            return Err(EINVAL);
        };
        let start: &[u8] = b"100% {\"255 -9223372036854775808 -128 0x0abc -0007\\} ";
        let numbers: &[u8] = match values.contains(&b'a') {
            true => b"{0x1,0xffffffffffffffff}",
            false => b"{}",
        };
        let end: &[u8] = b" ffffffffffffffff 0o10 -1 true {0x1,0x2,0xff}  \
            {0xffffffffffffffff,0x1} caf\xe9 {0xffff}";
        let parts = [start, values, behind, numbers, end];
        let rest = parts
            .iter()
            .try_fold(text, |text, part| text.strip_prefix(*part));
        check!(rest.is_some_and(<[u8]>::is_empty));
        // No byte of the stack is in the holes: behind `a` and behind `m` and `n`.
        check!(bytes
            .get(9..16)
            .is_some_and(|hole| hole.iter().all(|byte| *byte == 0)));
    }
    check!(reader.consume()?.is_none());
    drop(all);
    check!(reader.consume()?.is_none());
    Ok(())
}

fn cut(module: &'static ThisModule, instance: &Instance) -> Result {
    let lines = Event::<Line<'_>>::new(module)?;
    enabled(instance, c"line")?;
    let long = KVec::from_elem(b'x', 10_000, GFP_KERNEL)?;
    let long = core::str::from_utf8(&long).map_err(|_| EINVAL)?;
    let mut reader = instance.reader()?;
    for length in [0, 1, 100, 3000, 3800, 4100, 10_000] {
        let line = long.get(..length).ok_or(EINVAL)?;
        lines.record(|| Line { r#type: line });
        let shown = next(&mut reader, "line: ").map_or(0, |(text, _)| text.len());
        check!(shown == length || length > 3800 && shown >= 3800 && shown < 4000);
    }
    Ok(())
}

fn names(module: &'static ThisModule) -> Result {
    fn refused<F: Fields + 'static>(module: &'static ThisModule) -> bool {
        is(Event::<F>::new(module), EINVAL)
    }
    check!(refused::<Enable>(module));
    check!(refused::<Common>(module));
    Ok(())
}

/// An event may end while somebody holds it, who sees no more of it.
fn held(module: &'static ThisModule, instance: &Instance) -> Result {
    let lines = Event::<Line<'_>>::new(module)?;
    // SAFETY: the names are strings.
    let file = kernel::error::from_err_ptr(unsafe {
        bindings::trace_get_event_file(
            c"rtrace_interface_check".as_char_ptr(),
            SYSTEM.as_char_ptr(),
            c"line".as_char_ptr(),
        )
    })?;
    enabled(instance, c"line")?;
    #[cfg(CONFIG_PERF_EVENTS)]
    let counter = Counter::new(file)?;
    lines.record(|| Line { r#type: "one" });
    lines.record(|| Line { r#type: "two" });
    #[cfg(CONFIG_PERF_EVENTS)]
    check!(counter.read() == 2);
    drop(lines);

    // The next one of its name is another event.
    let lines = Event::<Line<'_>>::new(module)?;
    check!(!lines.is_wanted());
    lines.record(|| Line { r#type: "three" });
    enabled(instance, c"line")?;
    lines.record(|| Line { r#type: "four" });
    #[cfg(CONFIG_PERF_EVENTS)]
    check!(counter.read() == 2);
    drop(lines);
    // SAFETY: it came from `trace_get_event_file()`.
    unsafe { bindings::trace_put_event_file(file) };
    #[cfg(CONFIG_PERF_EVENTS)]
    drop(counter);
    Ok(())
}

/// Counts hits by perf in the current task.
#[cfg(CONFIG_PERF_EVENTS)]
struct Counter(*mut bindings::perf_event);

#[cfg(CONFIG_PERF_EVENTS)]
impl Counter {
    fn new(file: *mut bindings::trace_event_file) -> Result<Self> {
        // SAFETY: the file was got, so its event is there.
        let kind = unsafe { (*(*file).event_call).event.type_ };
        let mut attr = bindings::perf_event_attr {
            type_: bindings::perf_type_id_PERF_TYPE_TRACEPOINT,
            size: size_of::<bindings::perf_event_attr>() as u32,
            config: kind as u64,
            ..Default::default()
        };
        let task: *const _ = kernel::current!().as_ptr();
        // SAFETY: the current task is there; no function is called at an overflow.
        let counter = kernel::error::from_err_ptr(unsafe {
            bindings::perf_event_create_kernel_counter(
                &mut attr,
                -1,
                task.cast_mut(),
                None,
                ptr::null_mut(),
            )
        })?;
        Ok(Self(counter))
    }

    fn read(&self) -> u64 {
        let (mut enabled, mut running) = (0, 0);
        // SAFETY: the counter is there.
        unsafe { bindings::perf_event_read_value(self.0, &mut enabled, &mut running) }
    }
}

#[cfg(CONFIG_PERF_EVENTS)]
impl Drop for Counter {
    fn drop(&mut self) {
        // SAFETY: it was created, and nobody else has it.
        unsafe { bindings::perf_event_release_kernel(self.0) };
    }
}

pub(super) fn check(module: &'static ThisModule) -> Result {
    let instance = Instance::open(c"rtrace_interface_check")?;
    types(module, &instance)?;
    cut(module, &instance)?;
    names(module)?;
    held(module, &instance)?;
    instance.remove()?;
    // kmemleak would be right to find it.
    if !cfg!(CONFIG_DEBUG_KMEMLEAK) {
        let leaked = Event::<Leaked>::new(module)?;
        leaked.record(|| Leaked { a: 1 });
        forget(leaked);
    }
    Ok(())
}
