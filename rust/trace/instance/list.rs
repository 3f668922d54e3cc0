// SPDX-License-Identifier: GPL-2.0

//! The list of all instances, `mkdir` and `rmdir` in `instances/`, and functions that concern
//! several instances.
//!
//! The top instance is the first of the list and is never removed. Any context may look for an
//! instance. Only task context creates and removes them.
//!
//! Lock order: the mutex of [`Directories`], an instance's state mutex, the lock of CPU hotplug,
//! [`LIST`] (a raw lock, innermost).

use super::held::Held;
use super::persistent::Persistent;
use super::tracer::{Tracer, TracerRef};
use super::{tracer, Instance, TOP};
use crate::core::parse::options::{Flag, Set};
use crate::kernel::fs::tracefs::{Dir, UserDirs};
use crate::kernel::queues;
use crate::kernel::raw_lock::RawLock;
use crate::kernel::reserved::Reserved;
use crate::kernel::{cpus, hotplug};
use crate::trace::buffer::Buffer;
use kernel::cpu::CpuId;
use kernel::new_mutex;
use kernel::prelude::*;
use kernel::str::CString;
use kernel::sync::atomic::{Acquire, Atomic, Relaxed, Release};
use kernel::sync::{Arc, Mutex, SetOnce};

/// An instance with its serial number. The list is sorted by that number.
#[derive(Clone)]
struct Entry {
    serial: u64,
    instance: Arc<Instance>,
}

static LIST: RawLock<KVec<Entry>> = RawLock::new(KVec::new());

/// The serial number of the instance that [`try_with`] keeps in the list. 0, that of the top, if it
/// keeps none. Set with [`LIST`] locked.
static KEPT: Atomic<u64> = Atomic::new(0);

/// How often [`try_with`] tries to take [`LIST`]: some hundredths of a second.
const ATTEMPTS: usize = 1 << 20;

/// The directories in `instances/`. The mutex is held while an instance is created or removed.
struct Directories {
    parent: Option<Dir>,
    made: KVec<(Arc<Instance>, Option<Dir>)>,
    /// The next serial number.
    next: u64,
    /// Bytes of buffer per CPU for a new instance.
    size: usize,
}

static HAS_DIRECTORY: Atomic<bool> = Atomic::new(false);

static DIRECTORIES: SetOnce<Pin<KBox<Mutex<Directories>>>> = SetOnce::new();

/// Starts the list with `top`. New instances get `size` bytes of buffer per CPU. Once, at boot.
/// `ENOMEM`.
fn init(top: Arc<Instance>, size: usize) -> Result {
    let state = Directories {
        parent: None,
        made: KVec::new(),
        next: 1,
        size,
    };
    DIRECTORIES.populate(KBox::pin_init(new_mutex!(state), GFP_KERNEL)?);
    add_to_list(0, top)
}

impl Instance {
    /// Makes the top instance. Its buffer gets `bytes` per CPU at first use. Once, at boot.
    /// `ENOMEM`.
    pub(crate) fn make_top(bytes: usize) -> Result<&'static Arc<Instance>> {
        tracer::init()?;
        let top = Self::new(None, Buffer::new(bytes, false), Set::DEFAULT, None)?;
        cpus::online().try_for_each(|cpu| top.prepare(cpu))?;
        init(top.clone(), bytes)?;
        TOP.populate(top.clone());
        top.notify_created()?;
        top.allow_users();
        Self::top()
    }

    /// Makes an instance called `name` with `bytes` of buffer per CPU. It inherits options of the
    /// top instance. Its buffer has no CPUs yet. Task context, may sleep. `ENOMEM`.
    fn make(name: CString, bytes: usize) -> Result<Arc<Instance>> {
        let options = Self::top()?.options().for_instance();
        let instance = Self::new(Some(name), Buffer::new(bytes, true), options, None)?;
        instance.buffer.set_overwrite(options.has(Flag::Overwrite));
        Ok(instance)
    }
}

/// Adds `instance` to the list. Task context. `ENOMEM`.
fn add_to_list(serial: u64, instance: Arc<Instance>) -> Result {
    // The raw lock is held for the exchange alone. The list does not change meanwhile, since the
    // caller holds the directories' mutex.
    let length = LIST.lock().len();
    let mut longer = KVec::with_capacity(length + 1, GFP_KERNEL)?;
    for entry in entries() {
        longer.push(entry, GFP_KERNEL)?;
    }
    longer.push(Entry { serial, instance }, GFP_KERNEL)?;
    let old = core::mem::replace(&mut *LIST.lock(), longer);
    drop(old);
    Ok(())
}

/// Removes `instance`, which is closed, from the list. Task context. `EBUSY` if [`try_with`] keeps it.
fn remove_from_list(instance: &Arc<Instance>) -> Result {
    let gone = {
        let mut list = LIST.lock();
        let at = list
            .iter()
            .position(|entry| Arc::ptr_eq(&entry.instance, instance));
        // Pairs with the release in `try_with`.
        let kept = KEPT.load(Acquire);
        if at
            .and_then(|at| list.get(at))
            .is_some_and(|entry| entry.serial == kept)
        {
            return Err(EBUSY);
        }
        at.and_then(|at| list.remove(at).ok())
    };
    drop(gone);
    Ok(())
}

/// All instances, the oldest first. An instance that is created or removed meanwhile may be
/// missing. Task context.
pub(crate) fn all() -> impl Iterator<Item = Arc<Instance>> {
    entries().map(|entry| entry.instance)
}

/// [`all`], with their serial numbers.
fn entries() -> impl Iterator<Item = Entry> {
    let mut next = 0;
    core::iter::from_fn(move || {
        let list = LIST.lock();
        let entry = list.get(list.partition_point(|entry| entry.serial < next))?;
        next = entry.serial.wrapping_add(1);
        Some(entry.clone())
    })
}

/// As [`all`], the newest first.
pub(crate) fn all_newest_first() -> impl Iterator<Item = Arc<Instance>> {
    let mut before = u64::MAX;
    core::iter::from_fn(move || {
        let list = LIST.lock();
        let entry = list.iter().rev().find(|entry| entry.serial < before)?;
        before = entry.serial;
        Some(entry.instance.clone())
    })
}

/// Removes a tracer that was [added](tracer::add). Where it is current, `nop` is afterwards. A start
/// that has begun may end after this, so the tracer must refuse to start from before this is called.
/// Task context, without the state mutex of an instance, may sleep.
pub(crate) fn remove_tracer(tracer: &Arc<dyn Tracer>) {
    tracer::take_out(tracer);
    let gone = TracerRef::Added(tracer.clone());
    all().for_each(|instance| instance.end_tracer(&gone));
}

/// The instance called `name`. The top instance has no name. Task context.
pub(crate) fn find(name: &[u8]) -> Option<Arc<Instance>> {
    LIST.lock()
        .iter()
        .find(|entry| entry.instance.is_called(name))
        .map(|entry| entry.instance.clone())
}

/// Runs `f` on the instance called `name`, which is not removed meanwhile. The list is not locked
/// then. Any context; one caller at a time.
///
/// # Errors
///
/// `ENOENT` if there is none, or if it is being created or removed. `EBUSY` if the list stays locked:
/// by what this context has interrupted, or by a CPU that was stopped.
pub(crate) fn try_with(name: &[u8], f: impl FnOnce(&Instance)) -> Result {
    let found = {
        let list = (0..ATTEMPTS).find_map(|_| LIST.try_lock()).ok_or(EBUSY)?;
        let entry = list
            .iter()
            .find(|entry| entry.instance.is_called(name) && !entry.instance.is_closed())
            .ok_or(ENOENT)?;
        KEPT.store(entry.serial, Relaxed);
        entry.instance.clone()
    };
    f(&found);
    // This is not the last reference, since the list still has one.
    drop(found);
    // Pairs with the acquire in `remove_from_list`.
    KEPT.store(0, Release);
    Ok(())
}

/// Stops recording in instances whose buffer outlives the kernel, because the kernel is about to
/// end. Any context.
pub(crate) fn stop_persistent() {
    // If the list is locked, an instance is being added or removed; it need not be stopped.
    if let Some(list) = LIST.try_lock() {
        list.iter()
            .filter(|entry| entry.instance.previous_boot().is_some())
            .for_each(|entry| {
                entry.instance.buffer().set_on(false);
            });
    }
}

/// Prepares the buffers of all instances for a CPU that comes online. Task context, may sleep.
/// `ENOMEM`.
pub(crate) fn prepare(cpu: CpuId) -> Result {
    all().try_for_each(|instance| instance.prepare(cpu))
}

/// Creates an instance and, once `instances/` exists, its directory. Task context, may sleep.
///
/// # Errors
///
/// `EEXIST`, `ENOMEM`, and the errors of creating the directory.
pub(crate) fn create(name: &CStr) -> Result<Arc<Instance>> {
    create_by(name, |size| Instance::make(CString::try_from(name)?, size))
}

/// As [`create`], with the buffer in `memory`; events found there are kept. Boot. `EINVAL` if the
/// memory is too small.
pub(crate) fn create_persistent(name: &CStr, memory: Reserved) -> Result<Arc<Instance>> {
    let instance = create_by(name, |_| {
        Instance::make_persistent(CString::try_from(name)?, Persistent::new(memory)?)
    })?;
    instance.give_back_memory_in_the_end();
    Ok(instance)
}

fn create_by(
    name: &CStr,
    make: impl FnOnce(usize) -> Result<Arc<Instance>>,
) -> Result<Arc<Instance>> {
    let mut directories = DIRECTORIES.as_ref().ok_or(ENODEV)?.lock();
    create_in(&mut directories, name, make)
}

fn create_in(
    directories: &mut Directories,
    name: &CStr,
    make: impl FnOnce(usize) -> Result<Arc<Instance>>,
) -> Result<Arc<Instance>> {
    if directories
        .made
        .iter()
        .any(|(instance, _)| instance.is_called(name.to_bytes()))
    {
        return Err(EEXIST);
    }
    let instance = make(directories.size)?;
    add(directories, instance)
}

/// Puts a new instance into the list and makes its directory.
fn add(directories: &mut Directories, instance: Arc<Instance>) -> Result<Arc<Instance>> {
    let Directories {
        parent, made, next, ..
    } = directories;
    made.reserve(1, GFP_KERNEL)?;
    let prepared = {
        // A CPU on its way up has looked at the list before it is online.
        let _no_change = hotplug::Hold::new();
        add_to_list(*next, instance.clone())?;
        cpus::online().try_for_each(|cpu| instance.prepare(cpu))
    };
    *next = next.wrapping_add(1);
    instance.count_options(true);

    let ready = prepared.and_then(|()| instance.notify_created());
    let directory = ready.and_then(|()| {
        parent
            .as_ref()
            .map(|parent| populate(parent, &instance))
            .transpose()
    });
    match directory {
        Ok(directory) => {
            // The capacity was reserved above.
            let _ = made.push_within_capacity((instance.clone(), directory));
            // The files were visible before, but an open waits.
            instance.allow_users();
            Ok(instance)
        }
        Err(error) => {
            // Nobody keeps an instance that was never open.
            remove_from_list(&instance)?;
            instance.retire();
            wait_for_cpus_on_their_way();
            Err(error)
        }
    }
}

/// RCU does not wait for what runs on a CPU in its first and last moments, which may be writing to the
/// buffer of an instance that goes. Task context, sleeps.
fn wait_for_cpus_on_their_way() {
    drop(hotplug::Hold::new());
}

/// Holds the instance called `name`. Waits while one of that name is created or removed. Task
/// context, may sleep. `ENOENT` if there is none, and the errors of [`Instance::hold`].
pub(crate) fn hold(name: &[u8]) -> Result<Held> {
    let hold = || find(name).ok_or(ENOENT)?.hold();
    hold().or_else(|_| {
        let _directories = DIRECTORIES.as_ref().ok_or(ENODEV)?.lock();
        hold()
    })
}

/// Holds `instance`, of which a file is opened. Waits while it is created or removed: its files are
/// seen before it can be held. Task context, may sleep, without a lock of the file system. Errors as
/// those of [`Instance::hold`].
pub(crate) fn hold_opened(instance: &Arc<Instance>) -> Result<Held> {
    instance.hold().or_else(|_| {
        let _directories = DIRECTORIES.as_ref().ok_or(ENODEV)?.lock();
        instance.hold()
    })
}

/// Holds the instance called `name`. Creates it if there is none. Task context, may sleep. Errors
/// as [`get_prepared`].
pub(crate) fn get(name: &CStr) -> Result<Held> {
    get_prepared(name, |_| Ok(()))
}

/// As [`get`]. Calls `prepare` for a new instance, before other code can see it.
///
/// # Errors
///
/// `ENOMEM`, the errors of `prepare`, of creating the directory, and of [`Instance::hold`].
pub(crate) fn get_prepared(name: &CStr, prepare: impl FnOnce(&Instance) -> Result) -> Result<Held> {
    let find = || find(name.to_bytes());
    if let Some(held) = find().and_then(|found| found.hold().ok()) {
        return Ok(held);
    }
    // With the mutex, none is being created or removed.
    let mut directories = DIRECTORIES.as_ref().ok_or(ENODEV)?.lock();
    let instance = match find() {
        Some(found) => found,
        None => create_in(&mut directories, name, |size| {
            let instance = Instance::make(CString::try_from(name)?, size)?;
            prepare(&instance)?;
            Ok(instance)
        })?,
    };
    instance.hold()
}

/// Creates the directory of `instance` with its files.
fn populate(parent: &Dir, instance: &Arc<Instance>) -> Result<Dir> {
    let directory = parent.create_dir(instance.name().ok_or(EINVAL)?)?;
    match instance.make_files(&directory) {
        Ok(()) => Ok(directory),
        Err(error) => {
            directory.remove();
            Err(error)
        }
    }
}

/// Removes the instance that `is` accepts, with its directory. Task context, may sleep.
///
/// # Errors
///
/// `ENODEV` if there is none; `EBUSY` while it has users or is being dumped.
pub(crate) fn remove(is: impl Fn(&Arc<Instance>) -> bool) -> Result {
    let mut directories = DIRECTORIES.as_ref().ok_or(ENODEV)?.lock();
    let at = directories
        .made
        .iter()
        .position(|(instance, _)| is(instance))
        .ok_or(ENODEV)?;
    let instance = directories.made.get(at).ok_or(ENODEV)?.0.clone();
    instance.close()?;
    remove_from_list(&instance).inspect_err(|_| instance.allow_users())?;
    let (_, directory) = directories.made.remove(at)?;
    instance.retire();
    wait_for_cpus_on_their_way();
    if let Some(directory) = directory {
        directory.remove();
    }
    Ok(())
}

/// Removes `instance` later, from a worker. Without memory for the work item, and while a dump prints
/// it, the instance stays until it is removed by hand. Task context, may sleep.
pub(crate) fn remove_later(instance: &Arc<Instance>) {
    let instance = instance.clone();
    let _ = queues::per_cpu().try_spawn(GFP_KERNEL, move || {
        let _ = remove(|other| Arc::ptr_eq(other, &instance));
    });
}

/// Creates `instances/` with the directories of the instances that were created at boot. Once,
/// after tracefs was registered. `ENOMEM`, and the errors of creating a directory.
///
/// An instance whose directory cannot be created, as its name has a slash, is logged and goes on
/// without.
pub(crate) fn create_directory(root: &Dir) -> Result {
    let mut directories = DIRECTORIES.as_ref().ok_or(ENODEV)?.lock();
    let parent = root.create_instance_dir::<Users>(c"instances")?;
    for (instance, directory) in directories.made.iter_mut() {
        *directory = populate(&parent, instance)
            .inspect_err(|error| {
                let name = instance.name().unwrap_or(c"");
                pr_warn!("instance {name} has no directory: {error:?}\n");
            })
            .ok();
    }
    directories.parent = Some(parent);
    HAS_DIRECTORY.store(true, Relaxed);
    Ok(())
}

/// Whether `instances/` is there: an instance gets its directory when it is made. Any context.
pub(crate) fn has_directory() -> bool {
    HAS_DIRECTORY.load(Relaxed)
}

/// Handles `mkdir` and `rmdir` in `instances/`.
struct Users;

impl UserDirs for Users {
    fn make(name: &CStr) -> Result {
        create(name).map(drop)
    }

    fn remove(name: &CStr) -> Result {
        remove(|instance| instance.is_called(name.to_bytes()))
    }
}
