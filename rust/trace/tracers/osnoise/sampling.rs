// SPDX-License-Identifier: GPL-2.0

//! The threads of `osnoise`: each reads the clock of its CPU again and again. Where more time has
//! passed than a loop takes, something else had the CPU.

use super::account::{self, Account};
use super::places::OsnoiseMain;
use super::recorders;
use super::settings::{Choice, Setting};
use crate::core::format::entry::Osnoise;
use crate::kernel::clock;
use crate::kernel::context::current_pid;
use crate::kernel::kthread::ThisThread;
use crate::kernel::osnoise::{self, Sample};
use crate::kernel::this_task::{pass_for_tasks_rcu, HeldOff, Kind, Staying};
use crate::trace::instance::latency;
use crate::trace::instance::message::EntryFunction;
use kernel::cpu::CpuId;
use kernel::sync::atomic::Relaxed;

/// A loop that takes longer is noise, unless `tracing_thresh` says other. Nanoseconds.
const THRESHOLD: u64 = 1000;

/// What the thread of `cpu` does.
pub(super) fn run(thread: &ThisThread, cpu: CpuId) {
    let Some(account) = account::of(cpu) else {
        return;
    };
    let staying = Staying::for_good();
    while !thread.should_stop() {
        if staying.is_in_the_way() {
            recorders::taint(
                OsnoiseMain::address(),
                "migration requested to osnoise threads, leaving.",
            );
            return account.leave();
        }
        if recorders::is_any_on() {
            sample(thread, account);
            pause(
                thread,
                Setting::Period.get().saturating_sub(Setting::Runtime.get()),
            );
        } else {
            pause(thread, Setting::Period.get());
        }
    }
}

/// Sleeps until the next look.
fn pause(thread: &ThisThread, microseconds: u64) {
    if microseconds == 0 {
        return pass_for_tasks_rcu();
    }
    thread.sleep_until(clock::timers().saturating_add(microseconds.saturating_mul(1000)));
}

/// The counts of disturbances.
fn counts(account: &Account) -> [u64; 4] {
    [
        &account.nmi,
        &account.irq,
        &account.softirq,
        &account.thread,
    ]
    .map(|source| source.count.load(Relaxed))
}

/// Looks for noise during the runtime, and records what there was.
fn sample(thread: &ThisThread, account: &Account) {
    let kind = match (Choice::IrqDisable.is_on(), Choice::PreemptDisable.is_on()) {
        (true, _) => Kind::Interrupts,
        (false, true) => Kind::Tasks,
        (false, false) => Kind::Nothing,
    };
    account.pid.store(current_pid(), Relaxed);
    let before = counts(account);
    let found = HeldOff::with(kind, |held| {
        account.sampling.store(true, Relaxed);
        let found = look(thread, account, held);
        account.sampling.store(false, Relaxed);
        found
    });
    let Some(found) = found else {
        return;
    };
    // Each count is cut as C cuts it.
    let [nmi_count, irq_count, softirq_count, thread_count] = {
        let mut after = counts(account).into_iter();
        before.map(|before| after.next().unwrap_or(0).wrapping_sub(before) as u32)
    };
    let entry = Osnoise {
        noise: found.noise / 1000,
        runtime: found.runtime / 1000,
        max_sample: found.longest / 1000,
        hw_count: found.unexplained,
        nmi_count,
        irq_count,
        softirq_count,
        thread_count,
        ..Osnoise::default()
    };
    osnoise::sample(&Sample {
        runtime: entry.runtime,
        noise: entry.noise,
        max_sample: entry.max_sample,
        hw_count: entry.hw_count,
        nmi_count,
        irq_count,
        softirq_count,
        thread_count,
    });
    recorders::record(entry);
    recorders::raise_latency(found.longest);
    if Setting::StopTracingTotal
        .limit()
        .is_some_and(|limit| entry.noise > limit)
    {
        recorders::stop_tracing(OsnoiseMain::address(), None);
    }
}

/// What was found, in nanoseconds.
#[derive(Default)]
struct Found {
    noise: u64,
    runtime: u64,
    longest: u64,
    /// The noises during which nothing of the system was seen.
    unexplained: u32,
}

/// None where the clock went backwards.
fn look(thread: &ThisThread, account: &Account, held: &HeldOff) -> Option<Found> {
    let threshold = match latency::threshold() {
        0 => THRESHOLD,
        threshold => threshold,
    };
    let runtime = Setting::Runtime.nanoseconds();
    let stop = Setting::StopTracing
        .limit()
        .map(|limit| limit.wrapping_mul(1000));
    let mut found = Found::default();
    let ((mut last, mut last_disturbances), start) = {
        let now = account.now();
        (now, now.0)
    };
    loop {
        let (now, disturbances) = account.now();
        let noise = now.wrapping_sub(last);
        if (noise as i64) < 0 {
            recorders::taint(OsnoiseMain::address(), "negative noise!");
            return None;
        }
        let passed = now.wrapping_sub(start);
        if passed < found.runtime {
            recorders::taint(OsnoiseMain::address(), "total overflow!");
            return Some(found);
        }
        found.runtime = passed;
        if noise >= threshold {
            let disturbances = disturbances.wrapping_sub(last_disturbances);
            found.longest = found.longest.max(noise);
            if disturbances == 0 {
                found.unexplained = found.unexplained.wrapping_add(1);
            }
            found.noise = found.noise.wrapping_add(noise);
            osnoise::sample_threshold(last, noise, disturbances);
            if stop.is_some_and(|stop| noise > stop) {
                recorders::stop_tracing(OsnoiseMain::address(), None);
            }
        }
        // A CPU without ticks would hold up RCU, which would then interrupt it.
        #[allow(unsafe_code, reason = "a quiescent state of RCU")]
        // SAFETY: the thread is in `run`, in no read section of RCU: what it uses here is static, or
        // belongs to the thread.
        unsafe {
            held.quiescent_state()
        };
        (last, last_disturbances) = (now, disturbances);
        if passed >= runtime || thread.should_stop() {
            return Some(found);
        }
    }
}
