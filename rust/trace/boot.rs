// SPDX-License-Identifier: GPL-2.0

//! Boot: creates the top instance and applies the command line to it.

#[cfg(CONFIG_BOOTTIME_TRACING)]
pub(crate) mod config;
#[cfg(CONFIG_FUNCTION_TRACER)]
mod ftrace;
#[cfg(all(CONFIG_BOOTTIME_TRACING, CONFIG_HIST_TRIGGERS))]
mod hist;
#[cfg(CONFIG_RING_BUFFER_STARTUP_TEST)]
pub(crate) mod ring_buffer_test;
#[cfg(CONFIG_FTRACE_STARTUP_TEST)]
pub(crate) mod selftest;

use super::buffer::made;
#[cfg(CONFIG_EVENT_TRACING)]
use super::events;
#[cfg(CONFIG_FUNCTION_GRAPH_TRACER)]
use super::fgraph::ret_stack;
use super::files::{self, marker};
use super::instance::feature::{self, make as feature_of, MakeFeature, Registry};
use super::instance::latency::{self, Latencies};
use super::instance::tracer::{self, BootStep};
use super::instance::{list, snapshot, Instance};
use super::output::{self, export, printk};
use super::tasks::{cmdlines, stack};
#[cfg(CONFIG_BLK_DEV_IO_TRACE)]
use super::tracers::blk;
#[cfg(CONFIG_BRANCH_TRACER)]
use super::tracers::branch;
#[cfg(CONFIG_HWLAT_TRACER)]
use super::tracers::hwlat;
#[cfg(CONFIG_OSNOISE_TRACER)]
use super::tracers::osnoise;
use super::tracers::{self, TRACERS};
use crate::core::parse::boot_instance::{BootInstance, Where};
use crate::core::parse::number;
use crate::core::parse::options::{Flag, Request, Target};
use crate::kernel::clock;
use crate::kernel::fs::lockdown::check_lockdown;
use crate::kernel::hotplug;
use crate::kernel::irq_work;
use crate::kernel::reserved::{self, Reserved};
use crate::kernel::text::NulText;
use kernel::cpu::CpuId;
use kernel::prelude::*;
use kernel::sync::Arc;

/// The features of instances; see [`feature`]. Their hooks are called in this order.
static FEATURES: &[&[MakeFeature]] = &[
    &[
        #[cfg(CONFIG_EVENT_TRACING)]
        feature_of::<events::pids::EventsFeature>,
        #[cfg(CONFIG_EVENT_TRACING)]
        feature_of::<events::systems::SystemsFeature>,
        #[cfg(CONFIG_FTRACE_SYSCALLS)]
        feature_of::<events::syscalls::Syscalls>,
        feature_of::<Latencies>,
        feature_of::<printk::PrintkOptions>,
        #[cfg(CONFIG_BRANCH_TRACER)]
        feature_of::<branch::BesideTracer>,
        #[cfg(CONFIG_BLK_DEV_IO_TRACE)]
        feature_of::<blk::Options>,
    ],
    #[cfg(CONFIG_FUNCTION_TRACER)]
    ftrace::FEATURES,
    &[
        feature_of::<marker::MarkerCopies>,
        feature_of::<files::Files>,
    ],
];

/// The bytes of buffer per CPU after the first use.
const SIZE: usize = 1408 << 10;
/// The smallest size that `trace_buf_size=` can set.
const LEAST: usize = 4096;

/// The texts of boot parameters. A missing parameter is empty.
pub(crate) struct Parameters<'a> {
    /// `ftrace=`
    pub(crate) tracer: &'a [u8],
    /// `trace_clock=`
    pub(crate) clock: &'a [u8],
    /// `trace_options=`
    pub(crate) options: &'a [u8],
    /// `trace_buf_size=`; `None` without it, since C takes an empty one for 0.
    pub(crate) size: Option<&'a [u8]>,
    /// `tracing_thresh=`
    pub(crate) threshold: &'a [u8],
    /// Whether `alloc_snapshot` or `ftrace_boot_snapshot` asks for a snapshot of the top instance.
    pub(crate) snapshot: bool,
}

/// Creates the top instance and applies the parameters. Early boot: one CPU, allocation works, long
/// sleeps are not allowed. Errors are logged, and the setting then keeps its default.
pub(crate) fn early(parameters: &Parameters<'_>) {
    let top = match make(parameters.size.map_or(SIZE, buffer_size)) {
        Ok(top) => top,
        Err(error) => return pr_err!("no tracing: {:?}\n", error),
    };
    // Even if the tracer cannot start, as in C.
    if !parameters.tracer.is_empty() {
        if let Err(error) = top.expand() {
            pr_warn!("the buffer stays small: {:?}\n", error);
        }
    }
    if parameters.snapshot {
        if let Err(error) = top.expand().and_then(|()| top.allocate_snapshot()) {
            pr_warn!("no snapshot allocated: {:?}\n", error);
        }
    }
    if let Ok(microseconds) = number::unsigned(parameters.threshold, 0) {
        latency::set_threshold(microseconds.wrapping_mul(1000));
    }
    if !parameters.clock.is_empty() && top.set_clock(parameters.clock).is_err() {
        pr_warn!("trace clock {} not defined\n", Text(parameters.clock));
    }
    // The other options must be set before the tracer starts.
    options(top, parameters.options);
    start_at(BootStep::Early, parameters.tracer, parameters.options);
}

/// All CPUs are up: starts `tracer`, that of `ftrace=`, if it has waited for them. Where the kernel
/// was locked down meanwhile, a tracer that runs ends. Task context.
pub(crate) fn all_cpus_up(tracer: &[u8], options: &[u8]) {
    if let (Ok(top), Err(_)) = (Instance::top(), check_lockdown()) {
        if let Err(error) = top.set_tracer(b"nop") {
            pr_warn!("the tracer goes on: {:?}\n", error);
        }
    }
    start_at(BootStep::Core, tracer, options);
}

/// Everything is there: what waits for that starts, such as `tracer`, as in [`all_cpus_up`]. Task
/// context.
pub(crate) fn late(tracer: &[u8], options: &[u8]) {
    #[cfg(CONFIG_HWLAT_TRACER)]
    hwlat::late_init();
    #[cfg(CONFIG_OSNOISE_TRACER)]
    osnoise::workload::late_init();
    start_at(BootStep::Late, tracer, options);
}

/// Starts the tracer called `name` if `step` is its step. Then sets the options of `list` again, as
/// those of the tracer exist only while it is current.
fn start_at(step: BootStep, name: &[u8], list: &[u8]) {
    let Ok(top) = Instance::top() else { return };
    if name.is_empty() || tracer::boot_step(name) != step {
        return;
    }
    match set_tracer(top, name) {
        Ok(()) => pr_info!("starting tracer '{}'\n", Text(name)),
        Err(error) => pr_warn!("tracer '{}' not started: {:?}\n", Text(name), error),
    }
    options(top, list);
}

/// Creates the instances of `parameters`, the texts of `trace_instance=`. Those in `snapshots` get
/// an allocated snapshot, and all get the `triggers` of `trace_trigger=`. Boot. Errors are logged, and
/// the instance is then missing or incomplete.
pub(crate) fn instances<'a>(
    parameters: impl Iterator<Item = &'a [u8]>,
    snapshots: impl Iterator<Item = &'a [u8]> + Clone,
    triggers: &[u8],
) {
    let mut made = KVec::new();
    for text in parameters.filter(|text| !text.is_empty()) {
        let wanted = BootInstance::parse(text);
        let snapshot = snapshots.clone().any(|name| name == wanted.name);
        let room = made.reserve(1, GFP_KERNEL).map_err(Error::from);
        match room.and_then(|()| boot_instance(&wanted, snapshot)) {
            Ok(instance) => {
                set_triggers(&instance, triggers);
                // This cannot fail: the room was reserved.
                let _ = made.push_within_capacity((wanted, instance));
            }
            Err(error) => pr_warn!(
                "instance {} is missing or incomplete: {:?}\n",
                Text(wanted.name),
                error
            ),
        }
    }
    // This comes last: an instance may hold a copy of another one's events, made before that one
    // records.
    made.iter()
        .filter(|(wanted, _)| wanted.events().next().is_some())
        .for_each(|(wanted, instance)| {
            if let Err(error) = instance.expand() {
                pr_warn!(
                    "instance {} has a small buffer: {:?}\n",
                    Text(wanted.name),
                    error
                );
            }
            enable_events(instance, wanted.events());
        });
}

#[cfg(CONFIG_EVENT_TRACING)]
fn enable_events<'a>(instance: &Arc<Instance>, names: impl Iterator<Item = &'a [u8]>) {
    events::boot::enable(instance, names);
}

#[cfg(CONFIG_EVENT_TRACING)]
fn set_triggers(instance: &Arc<Instance>, triggers: &[u8]) {
    events::boot::set_triggers(instance, triggers);
}

#[cfg(not(CONFIG_EVENT_TRACING))]
fn set_triggers(_instance: &Arc<Instance>, _triggers: &[u8]) {}

#[cfg(not(CONFIG_EVENT_TRACING))]
fn enable_events<'a>(_instance: &Arc<Instance>, names: impl Iterator<Item = &'a [u8]>) {
    names.for_each(|event| pr_warn!("Failed to enable trace event: {}\n", Text(event)));
}

fn boot_instance(wanted: &BootInstance<'_>, snapshot: bool) -> Result<Arc<Instance>> {
    if list::find(wanted.name).is_some() {
        pr_warn!("Instance {} already exists\n", Text(wanted.name));
        return Err(EEXIST);
    }
    let name = NulText::new(wanted.name)?;
    let copy = wanted.copy_of.map(copy_of).transpose()?;
    for flag in wanted.unknown_flags() {
        pr_info!(
            "Invalid instance flag '{}' for {}\n",
            Text(flag),
            Text(wanted.name)
        );
    }
    let instance = match (wanted.memory, copy) {
        (None, None) => list::create(&name)?,
        (None, Some(copy)) => list::create_persistent(&name, copy)?,
        (Some(memory), _) => {
            let memory = memory_of(memory, wanted.name)?;
            pr_info!(
                "instance {} has {} bytes of memory that outlives the kernel\n",
                Text(wanted.name),
                memory.size()
            );
            list::create_persistent(&name, memory)?
        }
    };
    if snapshot && instance.previous_boot().is_none() {
        instance.allocate_snapshot()?;
    }
    if wanted.traceoff {
        instance.set_tracing_on(false);
    }
    if wanted.printk && !instance.is_copy() {
        instance.set_option(Flag::TracePrintkDest, true)?;
    }
    Ok(instance)
}

/// A copy of the memory of the instance called `name` from the last boot.
fn copy_of(name: &[u8]) -> Result<Reserved> {
    let from = list::find(name).ok_or(ENOENT);
    let copy = from.and_then(|from| from.copy_memory());
    copy.inspect_err(|_| pr_warn!("no copy can be made of instance {}\n", Text(name)))
}

fn memory_of(memory: Where<'_>, instance: &[u8]) -> Result<Reserved> {
    let instance = Text(instance);
    match memory {
        Where::Name(name) => Reserved::by_name(&*NulText::new(name)?)
            .inspect_err(|_| pr_warn!("no usable memory is reserved as {}\n", Text(name))),
        Where::Address { start, size } => Reserved::by_address(start, size).inspect_err(|_| {
            pr_warn!("no memory is kept from the kernel at {:#x}\n", start);
        }),
        Where::NoAddress => {
            pr_warn!("Invalid boot instance address for {instance}\n");
            Err(EINVAL)
        }
        Where::NoSize => {
            pr_warn!("No size specified for instance {instance}\n");
            Err(EINVAL)
        }
        Where::BadSize => {
            pr_warn!("Invalid boot instance size for {instance}\n");
            Err(EINVAL)
        }
    }
}

/// A module was loaded with its text at `text`, or is unloaded (`None`). Task context, sleeps.
pub(crate) fn note_module(name: &[u8], text: Option<usize>) {
    list::all().for_each(|instance| instance.note_module(name, text));
}

/// Makes the top instance. `ENOMEM`; `EPERM` in a kernel that is locked down, which has no instances.
/// What others than tracing use is there in that case.
fn make(size: usize) -> Result<&'static Arc<Instance>> {
    reserved::init();
    irq_work::init()?;
    cmdlines::init()?;
    stack::init()?;
    #[cfg(CONFIG_BRANCH_TRACER)]
    branch::recording::init()?;
    #[cfg(CONFIG_HWLAT_TRACER)]
    hwlat::init()?;
    #[cfg(CONFIG_OSNOISE_TRACER)]
    osnoise::workload::init()?;
    feature::register(Registry {
        features: FEATURES,
        tracers: TRACERS,
    });
    output::tracer::register(tracers::OUTPUTS);
    export::init()?;
    made::init()?;
    hotplug::before_up(prepare)?;
    check_lockdown().inspect_err(|_| pr_warn!("Tracing disabled due to lockdown\n"))?;
    let top = Instance::make_top(size)?;
    printk::init()?;
    Ok(top)
}

/// A CPU comes online: prepares the buffers for it, and resets the shadow stack of its idle task.
fn prepare(cpu: CpuId) -> Result {
    #[cfg(CONFIG_FUNCTION_GRAPH_TRACER)]
    ret_stack::begin_idle(cpu);
    list::prepare(cpu)?;
    made::prepare(cpu)
}

/// The end of boot with `ftrace_boot_snapshot`: takes a snapshot in each instance where one is
/// allocated. The messages name the function at `ip`. Task context.
pub(crate) fn end_with_snapshot(ip: usize) {
    for instance in list::all().filter(|instance| instance.snapshot().is_allocated()) {
        snapshot::take_at_boot(&instance, ip);
    }
}

/// Makes the tracer called `name` the current one, unless boot must not start it. `EPERM` under
/// lockdown; otherwise errors as [`Instance::set_tracer`].
fn set_tracer(instance: &Arc<Instance>, name: &[u8]) -> Result {
    check_lockdown()?;
    if !tracer::may_start_at_boot(name) {
        return Err(EINVAL);
    }
    instance.set_tracer(name)
}

/// The end of boot without `trace_clock=`: a clock that differs between CPUs is no default. Task
/// context.
pub(crate) fn choose_clock() {
    if clock::sched_is_stable() {
        return;
    }
    if check_lockdown().is_err() {
        return pr_warn!("Can not set tracing clock due to lockdown\n");
    }
    pr_warn!(
        "Unstable clock detected, switching default tracing clock to \"global\"\n\
         If you want to keep using the local clock, then add:\n  \
         \"trace_clock=local\"\non the kernel command line\n"
    );
    let set = Instance::top().and_then(|top| top.set_clock(b"global"));
    if let Err(error) = set {
        pr_warn!("the clock stays: {:?}\n", error);
    }
}

fn options(top: &Arc<Instance>, list: &[u8]) {
    for request in Request::list(list) {
        let (own, _) = top.tracer_options();
        if request.resolve(own).is_ok() {
            let _ = set_option(top, &request).inspect_err(|error| {
                pr_warn!("trace option {}: {:?}\n", Text(request.name), error);
            });
        }
    }
}

/// Sets a core option or an option of the current tracer. `EINVAL` if there is no such option, and
/// the errors of the option.
fn set_option(instance: &Arc<Instance>, request: &Request<'_>) -> Result {
    let (own, _) = instance.tracer_options();
    match request.resolve(own).map_err(|_| EINVAL)? {
        Target::Core(row) => instance.set_option(row.flag, request.on),
        Target::Tracer(option) => instance.set_tracer_option(option, request.on),
    }
}

/// The size that the text of `trace_buf_size=` gives, at least [`LEAST`].
fn buffer_size(text: &[u8]) -> usize {
    // What follows the size does not matter, as in C.
    let (bytes, _) = number::size(text);
    usize::try_from(bytes).map_or(SIZE, |bytes| bytes.max(LEAST))
}

/// Prints bytes that should be text.
struct Text<'a>(&'a [u8]);

impl kernel::fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut kernel::fmt::Formatter<'_>) -> kernel::fmt::Result {
        self.0
            .utf8_chunks()
            .try_for_each(|chunk| f.write_str(chunk.valid()))
    }
}
