// SPDX-License-Identifier: GPL-2.0

//! Mounting tracefs: the file system type, its one superblock and the options `uid=`, `gid=` and
//! `mode=`.

use super::{inode, lazy, CStatic, Inode};
use crate::kernel::interop::{errno, Table};
use core::{mem::MaybeUninit, ptr};
use kernel::{
    bindings,
    error::to_result,
    prelude::*,
    sync::atomic::{Acquire, Atomic, Relaxed, Release},
};

const NAME: &CStr = c"tracefs";
const DEFAULT_MODE: u32 = 0o700;

/// The internal mount that keeps the tree while there is anything in it.
///
/// Both words are C's, under the lock of `simple_pin_fs()`.
pub(super) struct Pinned {
    pub(super) mount: CStatic<*mut bindings::vfsmount>,
    pub(super) count: CStatic<c_int>,
}

pub(super) static PINNED: Pinned = Pinned {
    mount: CStatic::new(ptr::null_mut()),
    count: CStatic::new(0),
};

/// A mount option; the value is its number in the table for C's parser.
#[derive(Clone, Copy)]
enum Opt {
    Uid,
    Gid,
    Mode,
}

impl Opt {
    const ALL: [Self; 3] = [Self::Uid, Self::Gid, Self::Mode];
}

/// The options given to a mount, and, moved over from the first mount, the superblock's state.
///
/// All are words, since showing the options may run beside a remount.
pub(super) struct Super {
    /// Bits `1 << Opt`: what was given.
    given: Atomic<u32>,
    uid: Atomic<u32>,
    gid: Atomic<u32>,
    mode: Atomic<u32>,
    /// Counts remounts with `uid=`, from 1: an owner given to an inode counts in that epoch only.
    uid_epoch: Atomic<u32>,
    gid_epoch: Atomic<u32>,
}

impl Super {
    fn new() -> Self {
        Self {
            given: Atomic::new(0),
            uid: Atomic::new(0),
            gid: Atomic::new(0),
            mode: Atomic::new(DEFAULT_MODE),
            uid_epoch: Atomic::new(1),
            gid_epoch: Atomic::new(1),
        }
    }

    /// The state of tracefs' superblock.
    ///
    /// # Safety
    ///
    /// `sb` is a live superblock of tracefs.
    pub(super) unsafe fn of<'a>(sb: *mut bindings::super_block) -> &'a Self {
        // SAFETY: the mount that made the superblock gave it this; `kill_sb` frees it last.
        unsafe { &*(*sb).s_fs_info.cast::<Self>() }
    }

    /// The epochs of owners and of groups; never 0.
    pub(super) fn epochs(&self) -> (u32, u32) {
        (self.uid_epoch.load(Relaxed), self.gid_epoch.load(Relaxed))
    }

    /// Owner and group that the last mount with such an option has given; those of root before.
    pub(super) fn owners(&self) -> (u32, u32) {
        (self.value(Opt::Uid), self.value(Opt::Gid))
    }

    fn was_given(&self, option: Opt) -> bool {
        self.given.load(Relaxed) & (1 << option as u32) != 0
    }

    fn word(&self, option: Opt) -> &Atomic<u32> {
        match option {
            Opt::Uid => &self.uid,
            Opt::Gid => &self.gid,
            Opt::Mode => &self.mode,
        }
    }

    fn value(&self, option: Opt) -> u32 {
        self.word(option).load(Relaxed)
    }

    fn give(&self, option: Opt, value: u32) {
        self.word(option).store(value, Relaxed);
        self.given
            .store(self.given.load(Relaxed) | (1 << option as u32), Relaxed);
    }

    /// Gives the root directory the value of this option.
    ///
    /// # Safety
    ///
    /// `root` is the root's inode; the superblock is being made or remounted.
    unsafe fn apply(&self, option: Opt, root: *mut bindings::inode) {
        let value = self.value(option);
        // SAFETY: single words of a live inode, read by others as they come.
        unsafe {
            match option {
                Opt::Uid => (&raw mut (*root).i_uid.val).write_volatile(value),
                Opt::Gid => (&raw mut (*root).i_gid.val).write_volatile(value),
                Opt::Mode => {
                    let kind = (*root).i_mode & !(bindings::S_IALLUGO as u16);
                    (&raw mut (*root).i_mode).write_volatile(kind | value as u16);
                }
            }
        }
    }

    /// Takes over what a later mount or a remount gives; the rest stays as it is, and so does what
    /// users did to the root meanwhile.
    ///
    /// # Safety
    ///
    /// As for [`Self::apply`].
    unsafe fn change(&self, new: &Super, root: *mut bindings::inode) {
        for option in Opt::ALL.into_iter().filter(|option| new.was_given(*option)) {
            self.give(option, new.value(option));
            // SAFETY: `root` is the inode of the root, whose superblock is being made or remounted.
            unsafe { self.apply(option, root) };
            let epoch = match option {
                Opt::Uid => &self.uid_epoch,
                Opt::Gid => &self.gid_epoch,
                Opt::Mode => continue,
            };
            epoch.store(next_epoch(epoch.load(Relaxed)), Relaxed);
        }
    }
}

/// The epoch after `epoch`; 0 stays the mark of inodes that were never given an owner.
fn next_epoch(epoch: u32) -> u32 {
    epoch.checked_add(1).unwrap_or(1)
}

const fn param(
    name: &'static CStr,
    kind: unsafe extern "C" fn(
        *mut bindings::p_log,
        *const bindings::fs_parameter_spec,
        *mut bindings::fs_parameter,
        *mut bindings::fs_parse_result,
    ) -> c_int,
    option: Opt,
    base: usize,
) -> bindings::fs_parameter_spec {
    bindings::fs_parameter_spec {
        name: kernel::str::as_char_ptr_in_const_context(name),
        type_: Some(kind),
        opt: option as u8,
        data: ptr::without_provenance(base),
        ..pin_init::zeroed()
    }
}

static PARAMETERS: Table<[bindings::fs_parameter_spec; 4]> = Table([
    param(c"uid", bindings::fs_param_is_uid, Opt::Uid, 0),
    param(c"gid", bindings::fs_param_is_gid, Opt::Gid, 0),
    param(c"mode", bindings::fs_param_is_u32, Opt::Mode, 8),
    pin_init::zeroed(),
]);

static CONTEXT_OPERATIONS: Table<bindings::fs_context_operations> =
    Table(bindings::fs_context_operations {
        free: Some(free_context),
        parse_param: Some(parse_param),
        get_tree: Some(get_tree),
        reconfigure: Some(reconfigure),
        ..pin_init::zeroed()
    });

static SUPER_OPERATIONS: Table<bindings::super_operations> = Table(bindings::super_operations {
    statfs: Some(bindings::simple_statfs),
    show_options: Some(show_options),
    ..inode::SUPER_OPERATIONS
});

/// C links it into its list of file systems, under the lock of that.
static FS_TYPE: CStatic<bindings::file_system_type> = CStatic::new(bindings::file_system_type {
    name: kernel::str::as_char_ptr_in_const_context(NAME),
    init_fs_context: Some(init_context),
    parameters: &raw const PARAMETERS.0[0],
    kill_sb: Some(kill_sb),
    ..pin_init::zeroed()
});

pub(super) fn fs_type() -> *mut bindings::file_system_type {
    FS_TYPE.get()
}

static REGISTERED: Atomic<bool> = Atomic::new(false);

/// Registers tracefs and makes its mount point in sysfs. Called once, at boot, before anything is
/// created.
pub(crate) fn init() -> Result {
    // SAFETY: sysfs is up by now; the name is static.
    to_result(unsafe {
        bindings::sysfs_create_mount_point(bindings::kernel_kobj, c"tracing".as_char_ptr())
    })
    .map_err(|_| EINVAL)?;
    inode::init()?;
    lazy::init()?;
    // SAFETY: the type is static and registered once.
    to_result(unsafe { bindings::register_filesystem(fs_type()) })?;
    // Pairs with the acquire load in `is_initialized`.
    REGISTERED.store(true, Release);
    Ok(())
}

/// Whether tracefs is registered, so that files can be created.
pub(crate) fn is_initialized() -> bool {
    // Pairs with the release store in `init`.
    REGISTERED.load(Acquire)
}

/// # Safety
///
/// As the VFS calls it, for a context of tracefs.
unsafe extern "C" fn init_context(fc: *mut bindings::fs_context) -> c_int {
    let Ok(options) = KBox::new(Super::new(), GFP_KERNEL) else {
        return ENOMEM.to_errno();
    };
    // SAFETY: the VFS passes a new context.
    unsafe {
        (*fc).s_fs_info = KBox::into_raw(options).cast();
        (*fc).ops = &raw const CONTEXT_OPERATIONS.0;
    }
    0
}

/// Frees the options, unless the superblock has taken them over.
///
/// # Safety
///
/// As the VFS calls it, for a context of tracefs.
unsafe extern "C" fn free_context(fc: *mut bindings::fs_context) {
    // SAFETY: `init_context` made them; who takes them leaves null.
    unsafe {
        let options = (*fc).s_fs_info.cast::<Super>();
        if !options.is_null() {
            drop(KBox::from_raw(options));
        }
    }
}

/// # Safety
///
/// As the VFS calls it, for a context of tracefs.
unsafe extern "C" fn parse_param(
    fc: *mut bindings::fs_context,
    param: *mut bindings::fs_parameter,
) -> c_int {
    let mut parsed = MaybeUninit::<bindings::fs_parse_result>::zeroed();
    // SAFETY: the VFS passes valid objects; the table ends with a zeroed entry.
    let option = unsafe {
        bindings::__fs_parse(
            &raw mut (*fc).log,
            &PARAMETERS.0[0],
            param,
            parsed.as_mut_ptr(),
        )
    };
    // SAFETY: zeroed is valid, and the parser filled in the member that the option has.
    let (options, value) = unsafe {
        (
            (*fc).s_fs_info.cast::<Super>().as_ref(),
            parsed.assume_init().__bindgen_anon_1,
        )
    };
    let Some(options) = options else {
        return EINVAL.to_errno();
    };
    // SAFETY: each reads the member of its own kind.
    unsafe {
        match option {
            0 => options.give(Opt::Uid, value.uid.val),
            1 => options.give(Opt::Gid, value.gid.val),
            2 => options.give(Opt::Mode, value.uint_32 & bindings::S_IALLUGO),
            error => return error,
        }
    }
    0
}

/// # Safety
///
/// As the VFS calls it, for a context of tracefs.
unsafe extern "C" fn get_tree(fc: *mut bindings::fs_context) -> c_int {
    // SAFETY: arguments as the VFS wants them; a new superblock takes over the options.
    let err = unsafe { bindings::get_tree_single(fc, Some(fill_super)) };
    if err != 0 {
        return err;
    }
    // Mounting what is mounted already is a remount with the options given.
    // SAFETY: the context now has a root.
    unsafe { reconfigure(fc) }
}

/// # Safety
///
/// As the VFS calls it, for a context of tracefs.
unsafe extern "C" fn reconfigure(fc: *mut bindings::fs_context) -> c_int {
    // SAFETY: the VFS calls it for a context with a root; the options are null if they became the
    // superblock's.
    unsafe {
        let sb = (*(*fc).root).d_sb;
        if let Some(new) = (*fc).s_fs_info.cast::<Super>().as_ref() {
            Super::of(sb).change(new, (*(*sb).s_root).d_inode);
        }
    }
    0
}

/// # Safety
///
/// As `get_tree_single()` calls it, for tracefs' superblock.
unsafe extern "C" fn fill_super(
    sb: *mut bindings::super_block,
    _fc: *mut bindings::fs_context,
) -> c_int {
    // SAFETY: the VFS passes a new superblock that has taken over the options.
    errno(unsafe {
        (*sb).s_blocksize = bindings::PAGE_SIZE as _;
        (*sb).s_blocksize_bits = bindings::PAGE_SHIFT as u8;
        (*sb).s_magic = bindings::TRACEFS_MAGIC as _;
        (*sb).s_time_gran = 1;
        (*sb).s_op = &raw const SUPER_OPERATIONS.0;
        bindings::set_default_d_op(sb, &raw const lazy::DENTRY_OPERATIONS.0);
        // Dentries of names that do not exist are of no use.
        (*sb).s_d_flags |= bindings::dentry_flags_DCACHE_DONTCACHE;
        make_root(sb)
    })
}

/// # Safety
///
/// `sb` is the new superblock, with its operations and options set.
unsafe fn make_root(sb: *mut bindings::super_block) -> Result {
    // SAFETY: `sb` is new, with its operations and options set; `d_make_root` takes the inode over,
    // even when it fails.
    unsafe {
        let root = Inode::new_bare(sb)?;
        (*root).i_ino = 1;
        inode::become_dir(root, inode::plain_dir());
        for option in Opt::ALL {
            Super::of(sb).apply(option, root);
        }
        (*sb).s_root = bindings::d_make_root(root);
        if (*sb).s_root.is_null() {
            return Err(ENOMEM);
        }
    }
    Ok(())
}

/// # Safety
///
/// As the VFS calls it, for tracefs' superblock.
unsafe extern "C" fn kill_sb(sb: *mut bindings::super_block) {
    // SAFETY: the last use of the superblock; its inodes, which look at the state, are gone after
    // the first call.
    unsafe {
        let state = (*sb).s_fs_info.cast::<Super>();
        bindings::kill_anon_super(sb);
        if !state.is_null() {
            drop(KBox::from_raw(state));
        }
    }
}

/// # Safety
///
/// As the VFS calls it, for tracefs' superblock.
unsafe extern "C" fn show_options(
    seq: *mut bindings::seq_file,
    root: *mut bindings::dentry,
) -> c_int {
    // SAFETY: the VFS passes a dentry of tracefs and a `seq_file` to print to; formats fit the
    // arguments.
    unsafe {
        let state = Super::of((*root).d_sb);
        let [uid, gid, mode] = Opt::ALL.map(|option| state.value(option));
        if uid != 0 {
            bindings::seq_printf(seq, c",uid=%u".as_char_ptr(), uid);
        }
        if gid != 0 {
            bindings::seq_printf(seq, c",gid=%u".as_char_ptr(), gid);
        }
        if mode != DEFAULT_MODE {
            bindings::seq_printf(seq, c",mode=%o".as_char_ptr(), mode);
        }
    }
    0
}

/// Has tracefs mounted on `tracing` in debugfs when somebody goes there, for tools from before
/// tracefs.
#[cfg(CONFIG_TRACEFS_AUTOMOUNT_DEPRECATED)]
pub(crate) fn automount_on_debugfs() {
    // SAFETY: static arguments; debugfs reports a failure itself, and nothing depends on this.
    unsafe {
        bindings::debugfs_create_automount(
            c"tracing".as_char_ptr(),
            ptr::null_mut(),
            Some(automount),
            ptr::null_mut(),
        );
    }
}

/// Without the option there is nothing to do.
#[cfg(not(CONFIG_TRACEFS_AUTOMOUNT_DEPRECATED))]
pub(crate) fn automount_on_debugfs() {}

/// # Safety
///
/// As debugfs calls it, for the directory of [`automount_on_debugfs`].
#[cfg(CONFIG_TRACEFS_AUTOMOUNT_DEPRECATED)]
unsafe extern "C" fn automount(
    on: *mut bindings::dentry,
    _data: *mut c_void,
) -> *mut bindings::vfsmount {
    // SAFETY: debugfs passes the dentry to be mounted on; the type is registered for good.
    let fc = unsafe { bindings::fs_context_for_submount(fs_type(), on) };
    let fc = match kernel::error::from_err_ptr(fc) {
        Ok(fc) => fc,
        Err(e) => return e.to_ptr(),
    };
    pr_warn!(
        "NOTICE: Automounting of tracing to debugfs is deprecated and will be removed in 2030\n"
    );

    // SAFETY: the context is ours until it is put.
    unsafe {
        let err = bindings::vfs_parse_fs_string(fc, c"source".as_char_ptr(), NAME.as_char_ptr());
        let mount = match to_result(err) {
            Ok(()) => bindings::fc_mount(fc),
            Err(e) => e.to_ptr(),
        };
        bindings::put_fs_context(fc);
        mount
    }
}
