// SPDX-License-Identifier: GPL-2.0

//! Inodes of tracefs: their owners and their operations.

use super::lazy::{self, EntryId, Part};
use super::mount::Super;
use super::InstanceFn;
use crate::kernel::fs::lockdown::check_lockdown;
use crate::kernel::fs::pseudo_fs;
use crate::kernel::interop::{errno, Table};
use core::{
    cell::UnsafeCell,
    ptr::{self, NonNull},
};
use kernel::{
    bindings,
    error::to_result,
    prelude::*,
    sync::{
        atomic::{Atomic, Relaxed},
        SetOnce,
    },
    types::Opaque,
};

const DIR_MODE: u32 = bindings::S_IFDIR | 0o750;
/// The attributes that stay when an inode is made anew.
const KEPT: u32 = bindings::ATTR_MODE | bindings::ATTR_UID | bindings::ATTR_GID;

/// An inode of tracefs.
///
/// # Invariants
///
/// `anchor` is null or the inode of a directory above this one, which lives at least as long: the
/// dentries of both are linked, and inodes are freed after an RCU grace period. It is null in a tree
/// that is made when it is looked at, whose inodes may be held without a dentry.
#[repr(C)]
pub(super) struct Inode {
    vfs: Opaque<bindings::inode>,
    /// The directory whose owner counts before the root's; null when there is none, and for the
    /// root.
    anchor: *const Inode,
    /// Whether no other inode's owner counts: it has the one that it was made with, until a mount
    /// gives all another. So it is in a tree that is made when it is looked at.
    is_own: bool,
    /// The mount's `uid_epoch` when this inode was given an owner of its own; 0 when it never was.
    uid_epoch: Atomic<u32>,
    /// The same for the group: `gid_epoch`.
    gid_epoch: Atomic<u32>,
    /// What it stands for in a tree that is made when it is looked at. Set before the inode is
    /// visible.
    entry: EntryId,
    /// What it has as a part of such a tree. Set before the inode is visible, taken when it is
    /// evicted.
    part: UnsafeCell<Option<KBox<Part>>>,
}

impl Inode {
    /// The inode of tracefs around a VFS inode.
    ///
    /// # Safety
    ///
    /// `vfs` is an inode of tracefs and valid for `'a`.
    pub(super) unsafe fn of<'a>(vfs: *const bindings::inode) -> &'a Self {
        // SAFETY: all inodes of tracefs come from `alloc`, and `vfs` is the first field.
        unsafe { &*vfs.cast::<Self>() }
    }

    /// A new inode without type, in a directory whose inode is `parent`. `ENOMEM`.
    ///
    /// # Safety
    ///
    /// `sb` is tracefs' superblock.
    pub(super) unsafe fn new(
        sb: *mut bindings::super_block,
        parent: &Self,
    ) -> Result<*mut bindings::inode> {
        // SAFETY: `sb` is tracefs' superblock.
        let vfs = unsafe { Self::new_bare(sb)? };
        parent.update_owner();
        // SAFETY: nobody else has seen the new inode; the parent's fields may change any time, and
        // are words.
        unsafe {
            (*vfs.cast::<Self>()).anchor = parent.anchor_of_children();
            (*vfs).i_ino = bindings::get_next_ino().into();
            (*vfs).i_uid = (*parent.vfs.get()).i_uid;
            (*vfs).i_gid = (*parent.vfs.get()).i_gid;
        }
        Ok(vfs)
    }

    /// A new inode without type, number or owner.
    ///
    /// # Safety
    ///
    /// `sb` is tracefs' superblock.
    pub(super) unsafe fn new_bare(sb: *mut bindings::super_block) -> Result<*mut bindings::inode> {
        // SAFETY: `sb` is valid.
        let vfs = unsafe { bindings::new_inode(sb) };
        if vfs.is_null() {
            return Err(ENOMEM);
        }
        // SAFETY: valid and new.
        unsafe { bindings::simple_inode_init_ts(vfs) };
        Ok(vfs)
    }

    /// Makes a new inode a part of a tree.
    ///
    /// # Safety
    ///
    /// `inode` came from [`Inode::new`] or [`Inode::new_bare`], and nobody else can see it yet.
    pub(super) unsafe fn set_part(inode: *mut bindings::inode, part: KBox<Part>) {
        // SAFETY: `inode` is new, and nobody else can see it yet; all inodes of tracefs are of this
        // type.
        unsafe { *(*inode.cast::<Self>()).part.get() = Some(part) };
    }

    /// Makes a new inode one whose owner and group are its own, in these epochs.
    ///
    /// # Safety
    ///
    /// As for [`Self::set_part`].
    pub(super) unsafe fn own(inode: *mut bindings::inode, owner: (u32, u32), group: (u32, u32)) {
        // INVARIANT: null.
        // SAFETY: `inode` is new, and nobody else can see it yet; all inodes of tracefs are of this
        // type.
        unsafe {
            (*inode.cast::<Self>()).anchor = ptr::null();
            (*inode.cast::<Self>()).is_own = true;
            Self::of(inode).set_owners(owner, group);
        }
    }

    /// As [`Self::own`], with those that it has, from now on; says which.
    ///
    /// # Safety
    ///
    /// As for [`Self::set_part`].
    pub(super) unsafe fn own_present(inode: *mut bindings::inode) -> ((u32, u32), (u32, u32)) {
        // SAFETY: `inode` is new, and nobody else can see it yet; all inodes of tracefs are of this
        // type.
        unsafe {
            let ((uid, _), (gid, _)) = Self::of(inode).owners();
            let (uid_epoch, gid_epoch) = Self::of(inode).sb().epochs();
            Self::own(inode, (uid, uid_epoch), (gid, gid_epoch));
            Self::of(inode).owners()
        }
    }

    /// Makes a new inode that of an entry of a tree. It was last changed when `dir` was, in which it
    /// is, so that this stays when the inode is made anew.
    ///
    /// # Safety
    ///
    /// `inode` came from [`Inode::new_bare`], and nobody else can see it yet; `dir` is a live inode.
    pub(super) unsafe fn set_entry(
        inode: *mut bindings::inode,
        entry: EntryId,
        dir: *const bindings::inode,
    ) {
        // SAFETY: `inode` is new, and nobody else can see it yet; times are words.
        unsafe {
            (*inode.cast::<Self>()).entry = entry;
            (*inode).i_ino = entry.inode_number();
            (*inode).i_mtime_sec = (&raw const (*dir).i_mtime_sec).read_volatile();
            (*inode).i_mtime_nsec = (&raw const (*dir).i_mtime_nsec).read_volatile();
            (*inode).i_ctime_sec = (&raw const (*dir).i_ctime_sec).read_volatile();
            (*inode).i_ctime_nsec = (&raw const (*dir).i_ctime_nsec).read_volatile();
        }
    }

    /// What it stands for in a tree. Until it is freed.
    pub(super) fn entry(&self) -> EntryId {
        self.entry
    }

    /// What it has as a part of a tree. Not in an RCU walk, where the inode may be about to go.
    pub(super) fn part(&self) -> Option<&Part> {
        // SAFETY: set before the inode is visible, and taken when nobody but RCU walks has it.
        unsafe { (*self.part.get()).as_deref() }
    }

    /// Owner and group, each with the epoch in which they were given, 0 if they never were.
    pub(super) fn owners(&self) -> ((u32, u32), (u32, u32)) {
        let vfs = self.vfs.get();
        // SAFETY: single words of a live inode.
        let (uid, gid) = unsafe {
            (
                (&raw const (*vfs).i_uid.val).read_volatile(),
                (&raw const (*vfs).i_gid.val).read_volatile(),
            )
        };
        (
            (uid, self.uid_epoch.load(Relaxed)),
            (gid, self.gid_epoch.load(Relaxed)),
        )
    }

    /// Gives back what [`Self::owners`] has said of an inode for the same entry.
    pub(super) fn set_owners(&self, owner: (u32, u32), group: (u32, u32)) {
        let vfs = self.vfs.get();
        // SAFETY: single words of a live inode.
        unsafe {
            (&raw mut (*vfs).i_uid.val).write_volatile(owner.0);
            (&raw mut (*vfs).i_gid.val).write_volatile(group.0);
        }
        self.uid_epoch.store(owner.1, Relaxed);
        self.gid_epoch.store(group.1, Relaxed);
    }

    fn anchor_of_children(&self) -> *const Self {
        // SAFETY: the operations are set before the inode is visible and never change.
        if unsafe { ptr::eq((*self.vfs.get()).i_op, &INSTANCE_DIR.0) } {
            self
        } else {
            self.anchor
        }
    }

    fn root(&self) -> *mut bindings::inode {
        // SAFETY: the superblock and its root outlive every inode that is in use.
        unsafe { (*(*(*self.vfs.get()).i_sb).s_root).d_inode }
    }

    fn sb(&self) -> &Super {
        // SAFETY: an inode in use has a superblock of tracefs.
        unsafe { Super::of((*self.vfs.get()).i_sb) }
    }

    /// Brings the owner in the VFS inode up to date. Any task context, RCU walk included.
    fn update_owner(&self) {
        let vfs = self.vfs.get();
        let root = self.root();
        if ptr::eq(vfs, root) {
            return;
        }
        let (uid_epoch, gid_epoch) = self.sb().epochs();
        if self.is_own {
            let (uid, gid) = self.sb().owners();
            // SAFETY: owners are single words of a live inode that every reader takes as they come.
            unsafe {
                if self.uid_epoch.load(Relaxed) != uid_epoch {
                    (&raw mut (*vfs).i_uid.val).write_volatile(uid);
                }
                if self.gid_epoch.load(Relaxed) != gid_epoch {
                    (&raw mut (*vfs).i_gid.val).write_volatile(gid);
                }
            }
            return;
        }
        // SAFETY: by the invariant the anchor is alive if there is one.
        let anchor = unsafe { self.anchor.as_ref() };

        if self.uid_epoch.load(Relaxed) != uid_epoch {
            let from = match anchor {
                Some(anchor) if anchor.uid_epoch.load(Relaxed) == uid_epoch => anchor.vfs.get(),
                _ => root,
            };
            // SAFETY: both are live inodes; owners are single words that every reader takes as they
            // come.
            unsafe {
                (&raw mut (*vfs).i_uid).write_volatile((&raw const (*from).i_uid).read_volatile())
            };
        }
        if self.gid_epoch.load(Relaxed) != gid_epoch {
            let from = match anchor {
                Some(anchor) if anchor.gid_epoch.load(Relaxed) == gid_epoch => anchor.vfs.get(),
                _ => root,
            };
            // SAFETY: both are live inodes; groups are single words that every reader takes as they
            // come.
            unsafe {
                (&raw mut (*vfs).i_gid).write_volatile((&raw const (*from).i_gid).read_volatile())
            };
        }
    }

    /// Changes attributes; an owner that is given counts until the next mount with that option.
    ///
    /// The mark goes first so that no look-up of the owner can come between and undo the change.
    ///
    /// # Safety
    ///
    /// The arguments are those of the VFS' `setattr`, `dentry` one of this inode's.
    unsafe fn set_attributes(
        &self,
        idmap: *mut bindings::mnt_idmap,
        dentry: *mut bindings::dentry,
        attributes: *mut bindings::iattr,
    ) -> Result {
        // SAFETY: `attributes` is what the VFS gives `setattr`.
        let valid = unsafe { (*attributes).ia_valid };
        // It is the owner of now who may.
        self.update_owner();
        let (uid_epoch, gid_epoch) = self.sb().epochs();
        let before = (self.uid_epoch.load(Relaxed), self.gid_epoch.load(Relaxed));

        if valid & bindings::ATTR_UID != 0 {
            self.uid_epoch.store(uid_epoch, Relaxed);
        }
        if valid & bindings::ATTR_GID != 0 {
            self.gid_epoch.store(gid_epoch, Relaxed);
        }
        // SAFETY: the arguments are those of the VFS' `setattr`, and `dentry` is one of this
        // inode's.
        to_result(unsafe { bindings::simple_setattr(idmap, dentry, attributes) }).inspect_err(
            |_| {
                self.uid_epoch.store(before.0, Relaxed);
                self.gid_epoch.store(before.1, Relaxed);
            },
        )
    }
}

/// Makes a new inode a regular file; its file operations are the caller's.
///
/// # Safety
///
/// `inode` came from [`Inode::new`] or [`Inode::new_bare`] and is not visible yet.
pub(super) unsafe fn become_file(inode: *mut bindings::inode, mode: u16) {
    // SAFETY: `inode` is new, and nobody else can see it yet.
    unsafe {
        (*inode).i_mode = bindings::S_IFREG as u16 | (mode & bindings::S_IALLUGO as u16);
        (*inode).i_op = &FILE.0;
    }
}

/// Makes a new inode a directory.
///
/// # Safety
///
/// As for [`become_file`], or from [`Inode::new_bare`].
pub(super) unsafe fn become_dir(
    inode: *mut bindings::inode,
    operations: &'static bindings::inode_operations,
) {
    // SAFETY: `inode` came from `Inode::new` or `Inode::new_bare`, and nobody else can see it yet.
    unsafe {
        (*inode).i_mode = DIR_MODE as u16;
        (*inode).i_op = operations;
        (*inode).__bindgen_anon_3.i_fop = &raw const bindings::simple_dir_operations;
        // For the entry "." in it.
        bindings::inc_nlink(inode);
    }
}

/// What all inodes of tracefs have in common.
pub(super) const COMMON: bindings::inode_operations = bindings::inode_operations {
    permission: Some(permission),
    getattr: Some(getattr),
    setattr: Some(setattr),
    ..pin_init::zeroed()
};

static FILE: Table<bindings::inode_operations> = Table(COMMON);

static PLAIN_DIR: Table<bindings::inode_operations> = Table(bindings::inode_operations {
    lookup: Some(bindings::simple_lookup),
    ..COMMON
});

static INSTANCE_DIR: Table<bindings::inode_operations> = Table(bindings::inode_operations {
    lookup: Some(bindings::simple_lookup),
    mkdir: Some(mkdir),
    rmdir: Some(rmdir),
    ..COMMON
});

/// Operations of a directory that only the kernel changes.
pub(super) fn plain_dir() -> &'static bindings::inode_operations {
    &PLAIN_DIR.0
}

/// Operations of the directory of instances.
pub(super) fn instance_dir() -> &'static bindings::inode_operations {
    &INSTANCE_DIR.0
}

/// What runs for `mkdir` and `rmdir` in the directory of instances.
static INSTANCE_FUNCTIONS: SetOnce<(InstanceFn, InstanceFn)> = SetOnce::new();

/// `EBUSY` when they are set already.
pub(super) fn set_instance_functions(mkdir: InstanceFn, rmdir: InstanceFn) -> Result {
    if INSTANCE_FUNCTIONS.populate((mkdir, rmdir)) {
        Ok(())
    } else {
        Err(EBUSY)
    }
}

/// File operations of a file that its creator gave none.
pub(super) fn sink() -> *const bindings::file_operations {
    &SINK.0
}

static SINK: Table<bindings::file_operations> = Table(bindings::file_operations {
    open: Some(bindings::simple_open),
    read: Some(read_nothing),
    write: Some(write_anything),
    llseek: Some(bindings::noop_llseek),
    ..pin_init::zeroed()
});

/// # Safety
///
/// As the VFS calls it, for an inode of tracefs.
unsafe extern "C" fn read_nothing(
    _file: *mut bindings::file,
    _to: *mut c_char,
    _len: usize,
    _pos: *mut bindings::loff_t,
) -> isize {
    0
}

/// # Safety
///
/// As the VFS calls it, for an inode of tracefs.
unsafe extern "C" fn write_anything(
    _file: *mut bindings::file,
    _from: *const c_char,
    len: usize,
    _pos: *mut bindings::loff_t,
) -> isize {
    len as isize
}

/// # Safety
///
/// As the VFS calls it, for an inode of tracefs.
unsafe extern "C" fn permission(
    idmap: *mut bindings::mnt_idmap,
    inode: *mut bindings::inode,
    mask: c_int,
) -> c_int {
    // SAFETY: the VFS passes a live inode of tracefs.
    let is_file = unsafe {
        Inode::of(inode).update_owner();
        u32::from((*inode).i_mode) & bindings::S_IFMT == bindings::S_IFREG
    };
    // SAFETY: arguments of the VFS passed on.
    let err = unsafe { bindings::generic_permission(idmap, inode, mask) };
    if err != 0 {
        return err;
    }
    if is_file && mask as u32 & bindings::MAY_OPEN != 0 {
        return errno(check_lockdown());
    }
    0
}

/// # Safety
///
/// As the VFS calls it, for an inode of tracefs.
unsafe extern "C" fn getattr(
    idmap: *mut bindings::mnt_idmap,
    path: *const bindings::path,
    stat: *mut bindings::kstat,
    request_mask: u32,
    _flags: c_uint,
) -> c_int {
    // SAFETY: the VFS passes a path to a live inode of tracefs.
    unsafe {
        let inode = (*(*path).dentry).d_inode;
        Inode::of(inode).update_owner();
        bindings::generic_fillattr(idmap, request_mask, inode, stat);
    }
    0
}

/// # Safety
///
/// As the VFS calls it, for an inode of tracefs.
unsafe extern "C" fn setattr(
    idmap: *mut bindings::mnt_idmap,
    dentry: *mut bindings::dentry,
    attributes: *mut bindings::iattr,
) -> c_int {
    // SAFETY: the VFS passes a dentry with a live inode of tracefs, and arguments that fit it.
    errno(unsafe {
        let inode = (*dentry).d_inode;
        let changed = Inode::of(inode).set_attributes(idmap, dentry, attributes);
        // `open(2)` with `O_TRUNC` comes here, too.
        match (*attributes).ia_valid & KEPT {
            0 => changed,
            _ => changed.and_then(|()| lazy::keep_attributes(inode)),
        }
    })
}

/// A copy of a dentry's name that a rename or removal does not change.
struct Name(Opaque<bindings::name_snapshot>);

impl Name {
    /// Runs `f` with the name of `dentry`.
    ///
    /// # Safety
    ///
    /// `dentry` is valid.
    unsafe fn with(dentry: *mut bindings::dentry, f: impl FnOnce(*const c_char) -> c_int) -> c_int {
        let name = Self(Opaque::uninit());
        // SAFETY: `dentry` is valid; the snapshot stays where it is until released.
        unsafe {
            bindings::take_dentry_name_snapshot(name.0.get(), dentry);
            let result = f((*name.0.get()).name.name.cast());
            bindings::release_dentry_name_snapshot(name.0.get());
            result
        }
    }
}

/// A user's `mkdir` among the instances: its maker creates the directory itself, through
/// [`super::create_dir`], so the lock of the parent that the VFS took is let go meanwhile.
///
/// # Safety
///
/// As the VFS calls it, for the directory of instances.
unsafe extern "C" fn mkdir(
    _idmap: *mut bindings::mnt_idmap,
    dir: *mut bindings::inode,
    dentry: *mut bindings::dentry,
    _mode: bindings::umode_t,
) -> *mut bindings::dentry {
    let Some((make, _)) = INSTANCE_FUNCTIONS.as_ref() else {
        return EPERM.to_ptr();
    };
    // SAFETY: the VFS holds the parent's lock and passes valid objects.
    let err = unsafe {
        Name::with(dentry, |name| {
            bindings::inode_unlock(dir);
            let err = make(name);
            bindings::inode_lock(dir);
            err
        })
    };
    match to_result(err) {
        Ok(()) => ptr::null_mut(),
        Err(e) => e.to_ptr(),
    }
}

/// A user's `rmdir` among the instances; here the VFS took two locks.
///
/// # Safety
///
/// As the VFS calls it, for the directory of instances.
unsafe extern "C" fn rmdir(dir: *mut bindings::inode, dentry: *mut bindings::dentry) -> c_int {
    let Some((_, remove)) = INSTANCE_FUNCTIONS.as_ref() else {
        return EPERM.to_errno();
    };
    // SAFETY: the VFS holds the locks of parent and victim, in this order, and passes valid
    // objects.
    unsafe {
        let victim = (*dentry).d_inode;
        Name::with(dentry, |name| {
            bindings::inode_unlock(dir);
            bindings::inode_unlock(victim);
            let err = remove(name);
            bindings::inode_lock_nested(dir, bindings::inode_i_mutex_lock_class_I_MUTEX_PARENT);
            bindings::inode_lock(victim);
            err
        })
    }
}

/// The superblock's operations on inodes.
pub(super) const SUPER_OPERATIONS: bindings::super_operations = bindings::super_operations {
    alloc_inode: Some(alloc),
    free_inode: Some(free),
    evict_inode: Some(evict),
    drop_inode: Some(bindings::inode_just_drop),
    ..pin_init::zeroed()
};

/// Where inodes are allocated.
struct Cache(NonNull<bindings::kmem_cache>);

// SAFETY: a cache locks itself.
unsafe impl Send for Cache {}
// SAFETY: as above.
unsafe impl Sync for Cache {}

/// Set before tracefs is registered.
static CACHE: SetOnce<Cache> = SetOnce::new();

/// Makes the cache of inodes. Once, at boot. `ENOMEM`.
pub(super) fn init() -> Result {
    // SAFETY: a plain call, in task context.
    let cache = unsafe { bindings::rtrace_inode_cache(size_of::<Inode>() as c_uint) };
    CACHE.populate(Cache(NonNull::new(cache).ok_or(ENOMEM)?));
    Ok(())
}

/// # Safety
///
/// As the VFS calls it, for tracefs' superblock.
unsafe extern "C" fn alloc(sb: *mut bindings::super_block) -> *mut bindings::inode {
    let Some(cache) = CACHE.as_ref() else {
        return ptr::null_mut();
    };
    // SAFETY: the superblock is complete, and the cache stays.
    let inode = unsafe { bindings::alloc_inode_sb(sb, cache.0.as_ptr(), bindings::GFP_KERNEL) };
    let inode = inode.cast::<Inode>();
    if inode.is_null() {
        return ptr::null_mut();
    }
    // SAFETY: memory for an inode of tracefs, not in use.
    // INVARIANT: no anchor yet.
    unsafe {
        inode.write(Inode {
            vfs: Opaque::uninit(),
            anchor: ptr::null(),
            is_own: false,
            uid_epoch: Atomic::new(0),
            gid_epoch: Atomic::new(0),
            entry: EntryId::NONE,
            part: UnsafeCell::new(None),
        });
        bindings::inode_init_once(inode.cast());
    }
    inode.cast()
}

/// Runs an RCU grace period after the eviction.
///
/// # Safety
///
/// As the VFS calls it, for an inode of tracefs.
unsafe extern "C" fn free(inode: *mut bindings::inode) {
    let Some(cache) = CACHE.as_ref() else {
        return;
    };
    // SAFETY: came from `alloc`; nobody can see it any more, and what it had was taken when it was
    // evicted.
    unsafe { bindings::kmem_cache_free(cache.0.as_ptr(), inode.cast()) };
}

/// # Safety
///
/// As the VFS calls it, for an inode of tracefs.
unsafe extern "C" fn evict(inode: *mut bindings::inode) {
    // SAFETY: the VFS evicts an inode once, when nothing refers to it; pages come from writes to
    // its size.
    unsafe {
        bindings::truncate_inode_pages_final(&raw mut (*inode).i_data);
        bindings::clear_inode(inode);
        pseudo_fs::detach(inode);
        drop((*Inode::of(inode).part.get()).take());
    }
}
