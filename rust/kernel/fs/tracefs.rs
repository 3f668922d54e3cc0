// SPDX-License-Identifier: GPL-2.0

//! tracefs: the file system on `/sys/kernel/tracing`.
//!
//! One tree in memory, made by the kernel alone: [`Dir`] creates directories and files, [`remove`]
//! removes them, and the files' behaviour is a [`FileType`]. Users may change owners and modes, and
//! may make and remove directories only where [`create_instance_dir`] allows it.
//!
//! Owners: a file belongs to the owner of the root directory (or the nearest directory of instances
//! above it), unless it was given an owner by itself (`chown`). What is made when it is looked at
//! belongs to who owned the directory above it when that was made. A mount or remount with `uid=` or
//! `gid=` gives the whole tree that owner and forgets what was given before. So the owner is looked
//! up rather than kept ([`inode`]), and a counter of such mounts tells which gifts still count
//! ([`mount`]).
//!
//! A directory may have its entries made when they are looked at ([`Dir::create_lazy_dir`],
//! [`lazy`]).
//!
//! Lockdown: with `LOCKDOWN_TRACEFS` nothing is created and every open of a file is `EPERM`.
//!
//! Locks: creating and removing take the parent directory's inode lock, as the VFS does.
//!
//! C header: `include/linux/tracefs.h`.

#[cfg(CONFIG_EVENT_TRACING)]
pub(crate) mod eventfs;
mod inode;
mod lazy;
mod mount;

use super::lockdown::check_lockdown;
use super::pseudo_fs::{self, FileType};
#[cfg(all(CONFIG_FSNOTIFY, CONFIG_TRACER_MAX_TRACE))]
use super::watched::{Watched, WatchedFile};
use crate::kernel::interop::errno;
use core::{mem, ptr::NonNull};
use inode::Inode;
#[cfg(all(CONFIG_FSNOTIFY, CONFIG_TRACER_MAX_TRACE))]
use kernel::sync::Arc;
use kernel::{bindings, error::from_err_ptr, prelude::*, types::Opaque};

pub(crate) use lazy::{Entry, Found, IsThere, LazyDir, Listed};
pub(crate) use mount::{automount_on_debugfs, init, is_initialized};

/// Runs when a user makes or removes a directory of instances; gets its name, holds no locks.
pub(crate) type InstanceFn = unsafe extern "C" fn(name: *const c_char) -> c_int;

/// A hold on the one mount that keeps the tree alive.
///
/// # Invariants
///
/// One count of `simple_pin_fs()` is owned.
struct Pin;

impl Pin {
    fn new() -> Result<Self> {
        // SAFETY: the type and the two words are static, and `simple_pin_fs()` has a lock for the
        // latter.
        let err = unsafe {
            bindings::simple_pin_fs(
                mount::fs_type(),
                mount::PINNED.mount.get(),
                mount::PINNED.count.get(),
            )
        };
        kernel::error::to_result(err)?;
        // INVARIANT: just taken.
        Ok(Self)
    }

    /// The root of the pinned tree.
    fn root(&self) -> *mut bindings::dentry {
        // SAFETY: the mount is set and stays while the count is owned.
        unsafe { (**mount::PINNED.mount.get()).mnt_root }
    }

    /// Leaves the count with something that was created, until it is removed.
    fn hand_over(self) {
        mem::forget(self);
    }

    /// Takes back what [`Self::hand_over`] gave.
    ///
    /// # Safety
    ///
    /// Called once for each `hand_over`.
    unsafe fn take_back() -> Self {
        // INVARIANT: `hand_over` has left this one.
        Self
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        // SAFETY: a count is owned; the words are static.
        unsafe {
            bindings::simple_release_fs(mount::PINNED.mount.get(), mount::PINNED.count.get())
        };
    }
}

/// A directory of tracefs. Dropping the handle leaves the directory where it is.
///
/// # Invariants
///
/// `dentry` is a positive directory of tracefs on which a reference is owned.
pub(crate) struct Dir {
    dentry: NonNull<bindings::dentry>,
    _pin: Pin,
}

// SAFETY: the dentry is reference counted and its operations lock what they need.
unsafe impl Send for Dir {}
// SAFETY: the operations on a dentry that shared references give lock what they need.
unsafe impl Sync for Dir {}

impl Dir {
    /// The root directory. Task context, may sleep. `ENODEV` before tracefs is registered,
    /// `ENOMEM`.
    pub(crate) fn root() -> Result<Self> {
        let pin = Pin::new()?;
        let root = pin.root();
        // SAFETY: the pinned mount has a root directory.
        unsafe { Self::hold(root, pin) }
    }

    /// # Safety
    ///
    /// `dentry` is a positive directory of tracefs.
    unsafe fn hold(dentry: *mut bindings::dentry, pin: Pin) -> Result<Self> {
        // SAFETY: `dentry` is positive, and so somebody has a reference to it.
        let dentry = NonNull::new(unsafe { bindings::dget(dentry) }).ok_or(EINVAL)?;
        // INVARIANT: `dget()` took the reference.
        Ok(Self { dentry, _pin: pin })
    }

    /// Makes a directory in this one: mode 0750, owned as the module says.
    ///
    /// Task context, may sleep. `EPERM` under lockdown, else `EINVAL`: the C function through which
    /// this goes, for those who trace it, does not say why it fails.
    pub(crate) fn create_dir(&self, name: &CStr) -> Result<Self> {
        check_lockdown()?;
        // SAFETY: `name` ends with a NUL, and the parent is a directory by the invariant.
        let dentry =
            unsafe { bindings::tracefs_create_dir(name.as_char_ptr(), self.dentry.as_ptr()) };
        if dentry.is_null() {
            return Err(EINVAL);
        }
        // SAFETY: just made; it can only be removed by its maker.
        unsafe { Self::hold(dentry, Pin::new()?) }
    }

    /// Makes the directory in which users may make and remove directories, whose making and removal
    /// `T` handles; there can be one.
    ///
    /// Task context, may sleep. `EBUSY` for a second, else as [`Dir::create_dir`].
    pub(crate) fn create_instance_dir<T: UserDirs>(&self, name: &CStr) -> Result<Self> {
        // SAFETY: the parent is a directory by the invariant, and the functions are static.
        let dentry = unsafe {
            create_instance_dir(
                name,
                self.dentry.as_ptr(),
                make_user_dir::<T>,
                remove_user_dir::<T>,
            )?
        };
        // SAFETY: just made; nobody removes it.
        unsafe { Self::hold(dentry, Pin::new()?) }
    }

    /// Makes a directory in this one whose entries are made when they are looked at: mode 0755, one
    /// link, owned as the module says. It goes with this directory. `is_there` tells of all below
    /// whether it is still there.
    ///
    /// Task context, may sleep. Errors as [`Dir::create_dir`].
    pub(crate) fn create_lazy_dir(
        &self,
        name: &CStr,
        of: KBox<dyn LazyDir>,
        is_there: IsThere,
    ) -> Result {
        // SAFETY: the parent is a directory by the invariant; a new root is entered at once.
        unsafe {
            let root = create(
                name,
                self.dentry.as_ptr(),
                bindings::fsnotify_mkdir,
                |inode| lazy::become_root(inode, of, is_there),
            )?;
            let parent = (*self.dentry.as_ptr()).d_inode;
            bindings::inode_lock(parent);
            bindings::inc_nlink(parent);
            bindings::inode_unlock(parent);
            lazy::enter_root(root).inspect_err(|_| drop(Pin::take_back()))
        }
    }

    /// Removes the directory, made by [`Dir::create_dir`], with all that is in it. Task context,
    /// may sleep.
    pub(crate) fn remove(self) {
        // SAFETY: the dentry is valid by the invariant.
        if unsafe { (*self.dentry.as_ptr()).d_parent } != self.dentry.as_ptr() {
            // SAFETY: not the root, so created here; the only handle goes with this call.
            unsafe { bindings::tracefs_remove(self.dentry.as_ptr()) };
        }
    }

    /// Makes a file in this directory, with the permission bits `mode`.
    ///
    /// Task context, may sleep. `EEXIST`, `ENOMEM`, `EPERM` under lockdown. The file goes with its
    /// directory.
    pub(crate) fn create_file(&self, name: &CStr, mode: u16, of: KBox<dyn FileType>) -> Result {
        // SAFETY: the parent is a directory by the invariant; the inode is new when `attach` sees
        // it, and inodes are `detach`ed when evicted.
        unsafe {
            create_file(name, mode, self.dentry.as_ptr(), |inode| {
                pseudo_fs::attach(inode, of)
            })?;
        }
        Ok(())
    }

    /// [`Dir::create_file`] for a file whose watchers are told of changes.
    #[cfg(all(CONFIG_FSNOTIFY, CONFIG_TRACER_MAX_TRACE))]
    pub(crate) fn create_watched_file(
        &self,
        name: &CStr,
        mode: u16,
        of: KBox<dyn FileType>,
        watched: Arc<Watched>,
    ) -> Result {
        let file = WatchedFile {
            of,
            watched: watched.clone(),
        };
        let of = KBox::new(file, GFP_KERNEL)?;
        // SAFETY: as in `create_file`. `detach` drops the `WatchedFile`.
        unsafe {
            create_file(name, mode, self.dentry.as_ptr(), |inode| {
                pseudo_fs::attach(inode, of)?;
                watched.set_inode(inode);
                Ok(())
            })?;
        }
        Ok(())
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        // SAFETY: the reference is owned by the invariant; the pin goes after it.
        unsafe { bindings::dput(self.dentry.as_ptr()) };
    }
}

/// What users' `mkdir` and `rmdir` in the directory of instances mean.
pub(crate) trait UserDirs: 'static {
    /// A user made `name`; the handler creates the directory. Task context, may sleep, no lock
    /// held. Any error.
    fn make(name: &CStr) -> Result;

    /// A user removes `name`; the handler removes the directory. Task context, may sleep, no lock
    /// held. Any error.
    fn remove(name: &CStr) -> Result;
}

/// # Safety
///
/// `name` is NUL-terminated.
unsafe extern "C" fn make_user_dir<T: UserDirs>(name: *const c_char) -> c_int {
    // SAFETY: the file system passes a string that is valid for the call.
    errno(T::make(unsafe { CStr::from_char_ptr(name) }))
}

/// # Safety
///
/// `name` is NUL-terminated.
unsafe extern "C" fn remove_user_dir<T: UserDirs>(name: *const c_char) -> c_int {
    // SAFETY: the file system passes a string that is valid for the call.
    errno(T::remove(unsafe { CStr::from_char_ptr(name) }))
}

/// A name being added to a directory, whose inode lock is held meanwhile.
///
/// # Invariants
///
/// `dentry` is what `simple_start_creating()` returned, negative until [`Creation::finish`].
struct Creation {
    dentry: *mut bindings::dentry,
    pin: Pin,
}

impl Creation {
    /// # Safety
    ///
    /// `parent` is null, which means the root, or a directory of tracefs.
    unsafe fn begin(name: &CStr, parent: *mut bindings::dentry) -> Result<Self> {
        check_lockdown()?;
        let pin = Pin::new()?;
        let parent = if parent.is_null() { pin.root() } else { parent };
        // SAFETY: `parent` is a directory, pinned, and no inode lock of tracefs is held by this
        // task.
        let dentry =
            from_err_ptr(unsafe { bindings::simple_start_creating(parent, name.as_char_ptr()) })?;
        // INVARIANT: just returned.
        Ok(Self { dentry, pin })
    }

    fn parent(&self) -> *mut bindings::dentry {
        // SAFETY: the dentry is valid by the invariant, and its parent is fixed under the held
        // lock.
        unsafe { (*self.dentry).d_parent }
    }

    /// A new inode for the name, owned as its parent is.
    fn new_inode(&self) -> Result<*mut bindings::inode> {
        // SAFETY: the dentry is valid, its parent a directory of tracefs.
        unsafe {
            let parent = (*self.parent()).d_inode;
            Inode::new((*self.dentry).d_sb, Inode::of(parent))
        }
    }

    /// Gives the name its inode; `notify` tells watchers. The reference on the result is the
    /// tree's.
    ///
    /// # Safety
    ///
    /// `inode` is new and complete, and is given away.
    unsafe fn finish(
        self,
        inode: *mut bindings::inode,
        notify: unsafe extern "C" fn(*mut bindings::inode, *mut bindings::dentry),
    ) -> *mut bindings::dentry {
        let Self { dentry, pin } = self;
        // SAFETY: the dentry is negative and its parent locked by the invariant.
        unsafe {
            bindings::d_make_persistent(dentry, inode);
            notify((*(*dentry).d_parent).d_inode, dentry);
            bindings::simple_done_creating(dentry);
        }
        pin.hand_over();
        dentry
    }

    fn give_up(self) {
        // SAFETY: begun by the invariant, and the dentry is still negative.
        unsafe { bindings::simple_done_creating(self.dentry) };
    }
}

/// Creates a regular file; `set_up` gives the new inode its operations.
///
/// # Safety
///
/// `parent` is null, for the root, or a directory of tracefs.
unsafe fn create_file(
    name: &CStr,
    mode: u16,
    parent: *mut bindings::dentry,
    set_up: impl FnOnce(*mut bindings::inode) -> Result,
) -> Result<*mut bindings::dentry> {
    // SAFETY: `parent` is null or a directory of tracefs; the inode is new and nobody else has it.
    unsafe {
        create(name, parent, bindings::fsnotify_create, |inode| {
            inode::become_file(inode, mode);
            set_up(inode)
        })
    }
}

/// Creates what `set_up` makes of a new inode, and tells watchers by `notify`.
///
/// # Safety
///
/// As for [`create_file`]; `set_up` leaves a complete inode or an error.
unsafe fn create(
    name: &CStr,
    parent: *mut bindings::dentry,
    notify: unsafe extern "C" fn(*mut bindings::inode, *mut bindings::dentry),
    set_up: impl FnOnce(*mut bindings::inode) -> Result,
) -> Result<*mut bindings::dentry> {
    // SAFETY: `parent` is null or a directory of tracefs.
    let creation = unsafe { Creation::begin(name, parent)? };
    let made = creation.new_inode().and_then(|inode| {
        set_up(inode).map(|()| inode).inspect_err(|_| {
            // SAFETY: gives up the only reference.
            unsafe { bindings::iput(inode) }
        })
    });
    match made {
        // SAFETY: the inode is complete.
        Ok(inode) => Ok(unsafe { creation.finish(inode, notify) }),
        Err(e) => {
            creation.give_up();
            Err(e)
        }
    }
}

/// Creates a directory.
///
/// # Safety
///
/// As for [`create_file`].
unsafe fn create_dir(
    name: &CStr,
    parent: *mut bindings::dentry,
    operations: &'static bindings::inode_operations,
) -> Result<*mut bindings::dentry> {
    // SAFETY: `parent` is null or a directory of tracefs.
    let creation = unsafe { Creation::begin(name, parent)? };
    match creation.new_inode() {
        // SAFETY: the inode is new; the parent's link count is under its lock, which is held.
        Ok(inode) => unsafe {
            inode::become_dir(inode, operations);
            bindings::inc_nlink((*creation.parent()).d_inode);
            Ok(creation.finish(inode, bindings::fsnotify_mkdir))
        },
        Err(e) => {
            creation.give_up();
            Err(e)
        }
    }
}

/// # Safety
///
/// As `simple_recursive_removal()` calls it, for something that was made here.
unsafe extern "C" fn one_removed(_dentry: *mut bindings::dentry) {
    // SAFETY: each thing in the tree had a pin handed over when it was created.
    drop(unsafe { Pin::take_back() });
}

/// Removes a file or a directory with all that is in it. Task context, may sleep.
///
/// # Safety
///
/// `dentry` was created here and not removed yet; if there is a lazy directory in it, then right
/// below it.
pub(crate) unsafe fn remove(dentry: *mut bindings::dentry) {
    // What is open or in use must outlive the tree's own pins.
    let Ok(_pin) = Pin::new() else {
        return;
    };
    // SAFETY: `dentry` is a live part of the tree, and no lock is held. Each tree that is removed
    // had a pin handed over.
    unsafe {
        for _ in 0..lazy::remove_below(dentry) {
            drop(Pin::take_back());
        }
        bindings::simple_recursive_removal(dentry, Some(one_removed));
    }
}

/// Creates a file whose operations are C's: `tracefs_create_file()`.
///
/// Without `operations` the file reads as empty and takes what is written. Errors as
/// [`Dir::create_file`].
///
/// # Safety
///
/// `parent` is null, for the root, or a directory made here; `data` and `operations` are good for
/// each other and outlive the file.
pub(crate) unsafe fn create_c_file(
    name: &CStr,
    mode: u16,
    parent: *mut bindings::dentry,
    data: *mut c_void,
    operations: *const bindings::file_operations,
) -> Result<*mut bindings::dentry> {
    if u32::from(mode) & bindings::S_IFMT != 0
        && u32::from(mode) & bindings::S_IFMT != bindings::S_IFREG
    {
        return Err(EINVAL);
    }
    // SAFETY: `parent` as this function's; the inode is new.
    unsafe {
        create_file(name, mode, parent, |inode| {
            (*inode).i_private = data;
            (*inode).__bindgen_anon_3.i_fop = if operations.is_null() {
                inode::sink()
            } else {
                operations
            };
            Ok(())
        })
    }
}

/// Creates a directory for C. Errors as [`Dir::create_dir`].
///
/// # Safety
///
/// `parent` is null, for the root, or a directory made here.
pub(crate) unsafe fn create_c_dir(
    name: &CStr,
    parent: *mut bindings::dentry,
) -> Result<*mut bindings::dentry> {
    // SAFETY: `parent` is null or a directory of tracefs.
    unsafe { create_dir(name, parent, inode::plain_dir()) }
}

/// Creates the directory in which users may make and remove directories; there can be one. `EBUSY`
/// for a second.
///
/// # Safety
///
/// As for [`create_c_dir`]; the functions stay callable.
pub(crate) unsafe fn create_instance_dir(
    name: &CStr,
    parent: *mut bindings::dentry,
    mkdir: InstanceFn,
    rmdir: InstanceFn,
) -> Result<*mut bindings::dentry> {
    inode::set_instance_functions(mkdir, rmdir)?;
    // SAFETY: `parent` is null or a directory of tracefs.
    unsafe { create_dir(name, parent, inode::instance_dir()) }
}

/// A static that C writes under a lock of its own.
#[repr(transparent)]
struct CStatic<T>(Opaque<T>);

// SAFETY: the users of each such static say which lock of C's is held for it.
unsafe impl<T> Sync for CStatic<T> {}

impl<T> CStatic<T> {
    const fn new(value: T) -> Self {
        Self(Opaque::new(value))
    }

    const fn get(&self) -> *mut T {
        self.0.get()
    }
}
