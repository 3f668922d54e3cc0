// SPDX-License-Identifier: GPL-2.0

//! Directories whose entries are made when they are looked at.
//!
//! A *tree* is such a directory with all below it. Its root stays in the file system; what is below
//! has an inode and a dentry only while somebody uses it, and is made from what a [`LazyDir`] finds
//! under a name. A number stands for each entry as long as the tree is there, whence its inode
//! number. Who watches an entry (inotify, fanotify) has its inode without a dentry; the next look-up
//! finds it among the kernel's inodes, by that number. What users change about an entry (mode,
//! owner) is kept with the tree, also by that number, so that it is there when the entry is made
//! anew. Where that would need more memory, what was kept of entries that are gone goes first
//! ([`IsThere`]).
//!
//! A directory whose [`LazyDir`] is gone is not found any more, also where somebody has it open; a
//! new one of that name is another one.
//!
//! Locks: a directory's inode lock is held while its `LazyDir` is asked; an entry's, and then that of
//! what is kept, while an `IsThere` is.

use super::inode::{self, Inode};
use crate::kernel::fs::pseudo_fs::{self, FileType};
use crate::kernel::interop::{errno, Table};
use core::ptr;
use kernel::{
    bindings, new_mutex,
    prelude::*,
    sync::{
        atomic::{Atomic, Relaxed},
        Arc, Mutex, SetOnce,
    },
};

/// The distance between the inode numbers of two trees: an odd number, whose multiples lie far from
/// each other.
const TREE_DISTANCE: u64 = 0x9e37_79b1;
/// A bit of every inode number here; C's counter for file systems in memory is seldom there.
const ENTRY_BIT: u32 = 1 << 31;
/// The places of "." and "..".
const DOTS: u64 = 2;
const DIR_MODE: u16 = bindings::S_IFDIR as u16 | 0o755;

/// What is in a directory. Task context, may sleep; a lock of the directory is held.
pub(crate) trait LazyDir: Send + Sync {
    /// What is called `name`, if there is such an entry. Any error.
    fn find(&self, name: &[u8]) -> Result<Option<Found>>;

    /// All entries, in the order of their places. Any error.
    fn list(&self) -> Result<KVec<Listed>>;

    /// Whether what the directory stood for has gone.
    fn is_gone(&self) -> bool {
        false
    }
}

/// Whether the entry with a number may still be there: one that is not will never be again. Task
/// context, may sleep; an entry's inode lock may be held.
pub(crate) type IsThere = fn(number: u64) -> bool;

/// An entry that was found.
pub(crate) struct Found {
    /// Its number, which no other entry of the tree ever has; not 0. In one directory, no two are to
    /// be the same in their last 31 bits.
    pub(crate) number: u64,
    /// What it is.
    pub(crate) what: Entry,
}

/// What an entry is.
pub(crate) enum Entry {
    /// A directory.
    Dir(KBox<dyn LazyDir>),
    /// A file with these permission bits.
    File(u16, KBox<dyn FileType>),
}

/// An entry in a listing.
pub(crate) struct Listed {
    /// As in [`Found`].
    pub(crate) number: u64,
    /// Its place in the listing, which no other entry of the directory has. A listing that is read
    /// in parts goes on behind the place of its last entry.
    pub(crate) place: u64,
    /// Its name.
    pub(crate) name: KVec<u8>,
    /// Whether it is a directory.
    pub(crate) is_dir: bool,
}

/// What a user has changed about an entry.
#[derive(Clone, Copy)]
struct Changed {
    number: u64,
    mode: u16,
    /// The owner, and the epoch that it counts in; see [`Inode`].
    owner: (u32, u32),
    group: (u32, u32),
}

/// Tells the entries of all trees apart.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct EntryId {
    tree: u64,
    number: u64,
}

impl EntryId {
    /// That of an inode that is no entry.
    pub(super) const NONE: Self = Self { tree: 0, number: 0 };

    /// The inode number. It has 32 bits, since programs without large files take no more. Entries
    /// of one directory have different ones.
    pub(super) fn inode_number(self) -> u64 {
        let from = self.tree.wrapping_mul(TREE_DISTANCE);
        (from.wrapping_add(self.number) as u32 | ENTRY_BIT).into()
    }
}

/// What the inodes of a tree have in common.
#[pin_data]
struct Tree {
    /// Tells trees apart; not 0.
    number: u64,
    /// The root was removed.
    is_removed: Atomic<bool>,
    is_there: IsThere,
    /// The owner and the group of entries that were given none, each with its epoch; see [`Inode`].
    owners: ((u32, u32), (u32, u32)),
    /// Sorted by number.
    #[pin]
    changed: Mutex<KVVec<Changed>>,
}

/// What an inode of a tree has beyond others.
pub(super) struct Part {
    tree: Arc<Tree>,
    /// What is in it, if it is a directory.
    dir: Option<KBox<dyn LazyDir>>,
}

/// The root of a tree.
///
/// # Invariants
///
/// `dentry` is a directory made by [`become_root`], which was not removed yet.
struct Root {
    dentry: *mut bindings::dentry,
    tree: Arc<Tree>,
}

// SAFETY: the pointer is only compared, but for the one who takes the root out of the list.
unsafe impl Send for Root {}

/// The roots there are, and how many there ever were.
#[pin_data]
struct Roots {
    #[pin]
    list: Mutex<(KVec<Root>, u64)>,
}

static ROOTS: SetOnce<Pin<KBox<Roots>>> = SetOnce::new();

/// Prepares for trees. Once, at boot, before anything is created. `ENOMEM`.
pub(super) fn init() -> Result {
    let list = pin_init!(Roots { list <- new_mutex!((KVec::new(), 0)) });
    ROOTS.populate(KBox::pin_init(list, GFP_KERNEL)?);
    Ok(())
}

/// A new inode of a directory that is to be the root of a tree: gives it what is in it. They go
/// when the inode is evicted. `ENOMEM`.
///
/// # Safety
///
/// `inode` is new and complete as a directory, and not visible yet.
pub(super) unsafe fn become_root(
    inode: *mut bindings::inode,
    dir: KBox<dyn LazyDir>,
    is_there: IsThere,
) -> Result {
    let roots = ROOTS.as_ref().ok_or(ENODEV)?;
    let number = {
        let mut list = roots.list.lock();
        list.1 = list.1.wrapping_add(1);
        list.1
    };
    // SAFETY: `inode` is new, and nobody else can see it yet.
    let owners = unsafe { Inode::own_present(inode) };
    let tree = Arc::pin_init(
        pin_init!(Tree {
            number,
            is_removed: Atomic::new(false),
            is_there,
            owners,
            changed <- new_mutex!(KVVec::new()),
        }),
        GFP_KERNEL,
    )?;
    let part = KBox::new(
        Part {
            tree,
            dir: Some(dir),
        },
        GFP_KERNEL,
    )?;
    // SAFETY: `inode` is a new directory that nobody else can see yet.
    unsafe {
        become_dir(inode);
        Inode::set_part(inode, part);
    }
    Ok(())
}

/// # Safety
///
/// `inode` is new and not visible yet.
unsafe fn become_dir(inode: *mut bindings::inode) {
    // SAFETY: `inode` is new, and nobody else can see it yet.
    unsafe {
        (*inode).i_mode = DIR_MODE;
        (*inode).i_op = &DIR_OPERATIONS.0;
        (*inode).__bindgen_anon_3.i_fop = &FILE_OPERATIONS.0;
        // Nobody counts directories that are not there.
        bindings::set_nlink(inode, 1);
    }
}

/// The root is in its place. Task context, sleeps. `ENOMEM`, and then it was removed, with the tree's
/// reference.
///
/// # Safety
///
/// `dentry` is that of an inode that [`become_root`] was called for, counted among the links of its
/// directory, and the tree's reference on it is owned by this module from now on. No lock of tracefs
/// is held.
pub(super) unsafe fn enter_root(dentry: *mut bindings::dentry) -> Result {
    // SAFETY: `dentry` is positive, and its inode one that `become_root` was called for.
    let part = unsafe { part((*dentry).d_inode) }.ok_or(EINVAL)?;
    let root = Root {
        dentry,
        tree: part.tree.clone(),
    };
    let roots = ROOTS.as_ref().ok_or(ENODEV)?;
    let mut list = roots.list.lock();
    if let Err(error) = list.0.reserve(1, GFP_KERNEL) {
        drop(list);
        // Somebody may have looked into it already: what is made then must not outlive it.
        // SAFETY: the root is in its directory and in no list, and no lock is held.
        unsafe { root.end() };
        return Err(error.into());
    }
    list.0.push_within_capacity(root).map_err(|_| ENOMEM)
}

impl Root {
    /// Takes the root out of its directory. Task context, sleeps.
    ///
    /// # Safety
    ///
    /// It is in no list, and no lock of tracefs is held.
    unsafe fn end(self) {
        self.tree.is_removed.store(true, Relaxed);
        // SAFETY: by the type invariant the root was not removed, and so its directory is there; its
        // reference is this module's, which goes here.
        unsafe {
            let parent = (*(*self.dentry).d_parent).d_inode;
            bindings::inode_lock(parent);
            bindings::drop_nlink(parent);
            bindings::inode_unlock(parent);
            bindings::d_invalidate(self.dentry);
            bindings::d_make_discardable(self.dentry);
        }
    }
}

/// Removes the trees whose roots are right below `parent`; says how many there were. What is still
/// open stays until it is closed, but nothing can be opened any more. Task context, sleeps.
///
/// # Safety
///
/// `parent` is a valid directory of tracefs, and no lock of tracefs is held.
pub(super) unsafe fn remove_below(parent: *mut bindings::dentry) -> usize {
    let Some(roots) = ROOTS.as_ref() else {
        return 0;
    };
    let mut removed = 0;
    loop {
        let root = {
            let list = &mut roots.list.lock().0;
            // SAFETY: the roots in the list are valid dentries; they are not moved.
            let at = list
                .iter()
                .position(|root| unsafe { (*root.dentry).d_parent } == parent);
            at.and_then(|at| list.remove(at).ok())
        };
        let Some(root) = root else {
            return removed;
        };
        // SAFETY: it was taken out of the list, and the caller holds no lock.
        unsafe { root.end() };
        removed += 1;
    }
}

impl Tree {
    fn entry(&self, number: u64) -> EntryId {
        EntryId {
            tree: self.number,
            number,
        }
    }

    /// Gives a new inode what a user has changed about it before.
    ///
    /// # Safety
    ///
    /// `inode` is one of tracefs, and nobody else can use it yet.
    unsafe fn restore(&self, inode: *mut bindings::inode) {
        // SAFETY: `inode` is one of tracefs.
        let number = unsafe { Inode::of(inode) }.entry().number;
        let changed = self.changed.lock();
        let found = changed.binary_search_by_key(&number, |changed| changed.number);
        if let Some(changed) = found.ok().and_then(|at| changed.get(at)) {
            // SAFETY: `inode` is valid, and nobody else can use it yet.
            unsafe {
                (*inode).i_mode = (*inode).i_mode & bindings::S_IFMT as u16 | changed.mode;
                Inode::of(inode).set_owners(changed.owner, changed.group);
            }
        }
    }

    /// Keeps what a user has changed about an entry. Task context, may sleep. `ENOMEM`.
    fn keep(&self, new: Changed) -> Result {
        let mut changed = self.changed.lock();
        let place = |changed: &[Changed]| {
            changed.binary_search_by_key(&new.number, |changed| changed.number)
        };
        if let Some(old) = place(&changed).ok().and_then(|at| changed.get_mut(at)) {
            *old = new;
            return Ok(());
        }
        if changed.len() == changed.capacity() {
            changed.retain(|changed| (self.is_there)(changed.number));
            // As many again, so that this is not done for each of them.
            let more = changed.len().max(1);
            changed.reserve(more, GFP_KERNEL)?;
        }
        let at = place(&changed).unwrap_or_else(|at| at);
        changed
            .insert_within_capacity(at, new)
            .map_err(|_| ENOMEM)?;
        Ok(())
    }
}

/// What an inode of tracefs has as a part of a tree.
///
/// # Safety
///
/// `inode` is an inode of tracefs that is in use for `'a`.
unsafe fn part<'a>(inode: *const bindings::inode) -> Option<&'a Part> {
    // SAFETY: `inode` is one of tracefs, and in use for `'a`.
    unsafe { Inode::of(inode) }.part()
}

/// Keeps the mode and the owners that `inode` has now, if it is made when it is looked at.
/// `ENOMEM`.
///
/// # Safety
///
/// `inode` is a live inode of tracefs, whose lock is held.
pub(super) unsafe fn keep_attributes(inode: *const bindings::inode) -> Result {
    // SAFETY: `inode` is a live one of tracefs.
    let Some(part) = (unsafe { part(inode) }) else {
        return Ok(());
    };
    // SAFETY: `inode` is a live one of tracefs.
    let entry = unsafe { Inode::of(inode) }.entry();
    if entry == EntryId::NONE {
        // The root of a tree keeps them itself.
        return Ok(());
    }
    // SAFETY: the inode is live and locked.
    let changed = unsafe {
        let (owner, group) = Inode::of(inode).owners();
        Changed {
            number: entry.number,
            mode: (*inode).i_mode & bindings::S_IALLUGO as u16,
            owner,
            group,
        }
    };
    part.tree.keep(changed)
}

static DIR_OPERATIONS: Table<bindings::inode_operations> = Table(bindings::inode_operations {
    lookup: Some(lookup),
    ..inode::COMMON
});

static FILE_OPERATIONS: Table<bindings::file_operations> = Table(bindings::file_operations {
    llseek: Some(bindings::generic_file_llseek),
    read: Some(bindings::generic_read_dir),
    iterate_shared: Some(iterate),
    ..pin_init::zeroed()
});

/// The operations on every dentry of tracefs.
pub(super) static DENTRY_OPERATIONS: Table<bindings::dentry_operations> =
    Table(bindings::dentry_operations {
        d_revalidate: Some(revalidate),
        ..pin_init::zeroed()
    });

/// A look-up in a directory of a tree.
///
/// # Safety
///
/// As the VFS calls it, for a directory of a tree.
unsafe extern "C" fn lookup(
    dir: *mut bindings::inode,
    dentry: *mut bindings::dentry,
    _flags: c_uint,
) -> *mut bindings::dentry {
    // SAFETY: the VFS passes a live directory of a tree, locked, and a new name in it, which does
    // not change meanwhile.
    unsafe {
        let name = &(*dentry).__bindgen_anon_1.d_name;
        let length = name.__bindgen_anon_1.__bindgen_anon_1.len;
        let name = core::slice::from_raw_parts(name.name, length as usize);
        match make(dir, name) {
            Ok(inode) => bindings::d_splice_alias(inode, dentry),
            Err(error) => error.to_ptr(),
        }
    }
}

/// Whether `inode` is that of the entry at `entry`.
///
/// # Safety
///
/// As the VFS calls it for [`make`], which passes a valid [`EntryId`].
unsafe extern "C" fn is_of(inode: *mut bindings::inode, entry: *mut c_void) -> c_int {
    // SAFETY: the VFS passes an inode of tracefs that is not freed yet, though it may be about to be
    // evicted, and what `make` has given it.
    unsafe { (Inode::of(inode).entry() == *entry.cast::<EntryId>()).into() }
}

/// The inode of the entry called `name`, null if there is none. While somebody has one, with a name
/// or without, as who watches a file has, it is that one.
///
/// # Safety
///
/// `dir` is a live directory of a tree.
unsafe fn make(dir: *mut bindings::inode, name: &[u8]) -> Result<*mut bindings::inode> {
    // SAFETY: `dir` is a live directory of a tree.
    let Some((tree, within)) = (unsafe { part(dir) }).and_then(Part::directory) else {
        return Err(ENOENT);
    };
    if tree.is_removed.load(Relaxed) {
        return Err(ENOENT);
    }
    let Some(found) = within.find(name)? else {
        return Ok(ptr::null_mut());
    };
    // SAFETY: the superblock is that of a live inode of tracefs. The new inode is nobody else's until
    // it is inserted, and until it is unlocked all others wait.
    unsafe {
        let mut entry = tree.entry(found.number);
        let inode = Inode::new_bare((*dir).i_sb)?;
        Inode::own(inode, tree.owners.0, tree.owners.1);
        Inode::set_entry(inode, entry, dir);
        let dir = match found.what {
            Entry::Dir(dir) => {
                become_dir(inode);
                Ok(Some(dir))
            }
            Entry::File(mode, of) => {
                inode::become_file(inode, mode);
                pseudo_fs::attach(inode, of).map(|()| None)
            }
        };
        let part = dir.and_then(|dir| {
            let tree = tree.clone();
            Ok(KBox::new(Part { tree, dir }, GFP_KERNEL)?)
        });
        match part {
            Ok(part) => Inode::set_part(inode, part),
            Err(error) => {
                bindings::iput(inode);
                return Err(error);
            }
        }
        let number = (*inode).i_ino;
        let sought = (&raw mut entry).cast();
        let known = bindings::inode_insert5(inode, number, Some(is_of), None, sought);
        if known != inode {
            bindings::iput(inode);
            return if known.is_null() {
                Err(ENOMEM)
            } else {
                Ok(known)
            };
        }
        // What is changed from here on is changed in this inode.
        tree.restore(inode);
        bindings::unlock_new_inode(inode);
        Ok(inode)
    }
}

impl Part {
    fn directory(&self) -> Option<(&Arc<Tree>, &dyn LazyDir)> {
        Some((&self.tree, &**self.dir.as_ref()?))
    }

    fn is_gone(&self) -> bool {
        let removed = self.tree.is_removed.load(Relaxed);
        removed || self.dir.as_ref().is_some_and(|dir| dir.is_gone())
    }
}

/// Whether what was looked up once is still what the name stands for.
///
/// # Safety
///
/// As the VFS calls `d_revalidate`, for a dentry of tracefs.
unsafe extern "C" fn revalidate(
    dir: *mut bindings::inode,
    _name: *const bindings::qstr,
    dentry: *mut bindings::dentry,
    flags: c_uint,
) -> c_int {
    // SAFETY: the VFS passes a directory and a dentry of tracefs. Without a reference on the dentry
    // its inode may change, but is freed after a grace period only; its operations stay.
    unsafe {
        let inode = (&raw const (*dentry).d_inode).read_volatile();
        let of = if inode.is_null() { dir } else { inode };
        if !is_dir(of) {
            return 1;
        }
        if flags & bindings::LOOKUP_RCU != 0 {
            return ECHILD.to_errno();
        }
        // A name that was not there may be there now.
        if inode.is_null() || part(inode).is_none_or(Part::is_gone) {
            return 0;
        }
    }
    1
}

/// Whether it is a directory of a tree.
///
/// # Safety
///
/// `inode` is an inode of tracefs that is not freed yet.
unsafe fn is_dir(inode: *const bindings::inode) -> bool {
    // SAFETY: `inode` is one of tracefs that is not freed yet; the operations never change.
    unsafe { ptr::eq((*inode).i_op, &DIR_OPERATIONS.0) }
}

/// # Safety
///
/// As the VFS calls it, for a directory of a tree.
unsafe extern "C" fn iterate(
    file: *mut bindings::file,
    context: *mut bindings::dir_context,
) -> c_int {
    // SAFETY: the VFS passes an open directory of a tree, locked, and where its entries go.
    errno(unsafe { list(file, context) })
}

/// # Safety
///
/// As for the VFS' `iterate_shared`, for a directory of a tree.
unsafe fn list(file: *mut bindings::file, context: *mut bindings::dir_context) -> Result {
    // SAFETY: the VFS gives an open directory of a tree and the context of its call.
    unsafe {
        if !bindings::dir_emit_dots(file, context) {
            return Ok(());
        }
        let part = part((*file).f_inode).ok_or(EINVAL)?;
        let (tree, dir) = part.directory().ok_or(EINVAL)?;
        if part.is_gone() {
            return Err(EINVAL);
        }
        let from = u64::try_from((*context).pos).map_err(|_| EINVAL)?;
        for entry in dir.list()? {
            let place = entry.place.wrapping_add(DOTS);
            if place < from {
                continue;
            }
            (*context).pos = place as i64;
            let kind = if entry.is_dir {
                bindings::DT_DIR
            } else {
                bindings::DT_REG
            };
            if !bindings::dir_emit(
                context,
                entry.name.as_ptr().cast(),
                entry.name.len() as c_int,
                tree.entry(entry.number).inode_number(),
                kind,
            ) {
                return Ok(());
            }
            (*context).pos = place.wrapping_add(1) as i64;
        }
    }
    Ok(())
}
