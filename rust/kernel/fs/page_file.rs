// SPDX-License-Identifier: GPL-2.0

//! Files that give away whole blocks of pages: into a pipe by `splice(2)`, into an address space by
//! `mmap(2)`.
//!
//! [`super::pseudo_fs`] asks an open file for its [`PageFile`] and calls it from here.
//!
//! C headers: `include/linux/splice.h`, `include/linux/pipe_fs_i.h`, `include/linux/mm.h`.

use crate::kernel::interop::Table;
use crate::kernel::pages::Pages;
use core::mem::MaybeUninit;
use core::ptr::NonNull;
use kernel::bindings;
use kernel::error::to_result;
use kernel::mm::virt::VmaNew;
use kernel::page::PAGE_SIZE;
use kernel::prelude::*;
use kernel::sync::{Arc, UniqueArc};

/// What such a file does. Task context, may sleep.
pub(crate) trait PageFile {
    /// Answers one `splice(2)` to a pipe; returns the number of bytes that went there, 0 at the
    /// end.
    fn splice(&self, call: &mut SpliceCall<'_>) -> Result<usize>;

    /// Maps the file into `area`; the result is dropped when the last of the mapping goes. The
    /// default is a file that cannot be mapped. The address space's lock is held.
    ///
    /// # Errors
    ///
    /// `ENODEV`, and what the file says.
    fn map(&self, _area: &Area<'_>) -> Result<KBox<dyn Send + Sync>> {
        Err(ENODEV)
    }
}

/// One `splice(2)` to a pipe, whose lock is held.
pub(crate) struct SpliceCall<'a> {
    pipe: NonNull<bindings::pipe_inode_info>,
    /// The file position; the method moves it.
    pub(crate) pos: &'a mut i64,
    len: usize,
    nonblock: bool,
}

impl<'a> SpliceCall<'a> {
    /// The call of a `splice_read` operation; `nonblock` says whether file or caller do not want to
    /// wait.
    ///
    /// # Safety
    ///
    /// `pipe` is a pipe whose lock the caller holds as long as the result lives.
    pub(super) unsafe fn from_raw(
        pipe: NonNull<bindings::pipe_inode_info>,
        pos: &'a mut i64,
        len: usize,
        nonblock: bool,
    ) -> Self {
        Self {
            pipe,
            pos,
            len,
            nonblock,
        }
    }

    /// How many bytes are wanted at most; the pipe has room for so many one-page buffers.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Whether to answer `EAGAIN` rather than wait.
    pub(crate) fn nonblock(&self) -> bool {
        self.nonblock
    }

    /// Puts blocks into the pipe, one buffer each; gives the number of bytes. What the pipe has no
    /// room for is dropped. It allocates nothing.
    ///
    /// # Errors
    ///
    /// `EPIPE` when nobody reads there, `EAGAIN` when there is no room at all.
    pub(crate) fn give(&mut self, batch: Batch) -> Result<usize> {
        let Batch {
            blocks,
            mut pages,
            mut partial,
            ..
        } = batch;
        for block in blocks {
            let (page, len) = (block.page(), block.size() as u32);
            let private = Arc::<Pages>::into_raw(block) as usize;
            let _ = pages.push_within_capacity(page);
            let _ = partial.push_within_capacity(bindings::partial_page {
                offset: 0,
                len,
                private,
            });
        }
        let mut given = bindings::splice_pipe_desc {
            pages: pages.as_mut_ptr(),
            partial: partial.as_mut_ptr(),
            nr_pages: pages.len() as c_int,
            nr_pages_max: pages.len() as c_uint,
            ops: &OPERATIONS.0,
            spd_release: Some(drop_unused),
        };
        // SAFETY: the pipe is locked (`from_raw`); the descriptor and its arrays live until the
        // call returns; each `private` is a reference to the block that its page belongs to.
        let done = unsafe { bindings::splice_to_pipe(self.pipe.as_ptr(), &mut given) };
        usize::try_from(done).map_err(|_| Error::from_errno(done as c_int))
    }
}

/// Blocks for [`SpliceCall::give`]. Its memory is there before a block is taken from elsewhere, so
/// none is lost for want of it.
pub(crate) struct Batch {
    /// For the next block.
    room: Option<UniqueArc<MaybeUninit<Pages>>>,
    blocks: KVec<Arc<Pages>>,
    /// With room for as many as there are blocks, and for the next one.
    pages: KVec<*mut bindings::page>,
    partial: KVec<bindings::partial_page>,
}

impl Batch {
    /// Without a block.
    pub(crate) fn new() -> Self {
        Self {
            room: None,
            blocks: KVec::new(),
            pages: KVec::new(),
            partial: KVec::new(),
        }
    }

    /// Whether there is no block in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Gets the memory for one more block. `ENOMEM`.
    pub(crate) fn reserve(&mut self) -> Result {
        let count = self.blocks.len() + 1;
        self.blocks.reserve(1, GFP_KERNEL)?;
        self.pages.reserve(count, GFP_KERNEL)?;
        self.partial.reserve(count, GFP_KERNEL)?;
        if self.room.is_none() {
            self.room = Some(UniqueArc::new_uninit(GFP_KERNEL)?);
        }
        Ok(())
    }

    /// Adds a block, which [`Batch::reserve`] has got the memory for; drops it otherwise.
    pub(crate) fn push(&mut self, block: impl Into<Pages>) {
        if let Some(room) = self.room.take() {
            let block = room.write(block.into());
            let _ = self.blocks.push_within_capacity(block.into());
        }
    }
}

static OPERATIONS: Table<bindings::pipe_buf_operations> = Table(bindings::pipe_buf_operations {
    release: Some(release),
    get: Some(get),
    ..pin_init::zeroed()
});

/// The block of a pipe buffer of ours.
///
/// # Safety
///
/// `buffer` is one that [`SpliceCall::give`] has put into a pipe, with its reference.
unsafe fn block_of(buffer: *mut bindings::pipe_buffer) -> *const Pages {
    // SAFETY: `SpliceCall::give` has put `buffer` into the pipe, with the block as its private
    // word.
    unsafe { (*buffer).private as *const Pages }
}

/// # Safety
///
/// As the pipe code calls it, for a buffer of [`SpliceCall::give`].
unsafe extern "C" fn release(
    _pipe: *mut bindings::pipe_inode_info,
    buffer: *mut bindings::pipe_buffer,
) {
    // SAFETY: the pipe gives its reference up.
    drop(unsafe { Arc::from_raw(block_of(buffer)) });
}

/// # Safety
///
/// As the pipe code calls it, for a buffer of [`SpliceCall::give`].
unsafe extern "C" fn get(
    _pipe: *mut bindings::pipe_inode_info,
    buffer: *mut bindings::pipe_buffer,
) -> bool {
    // SAFETY: the pipe has a reference, which stays its own.
    let block = core::mem::ManuallyDrop::new(unsafe { Arc::from_raw(block_of(buffer)) });
    core::mem::forget(Arc::clone(&block));
    true
}

/// # Safety
///
/// As `splice_to_pipe()` calls it, for a descriptor of [`SpliceCall::give`].
unsafe extern "C" fn drop_unused(given: *mut bindings::splice_pipe_desc, index: c_uint) {
    // SAFETY: `splice_to_pipe` calls this for entries whose reference it has not passed on.
    drop(unsafe { Arc::from_raw((*(*given).partial.add(index as usize)).private as *const Pages) });
}

/// The range of addresses of one `mmap(2)`.
pub(crate) struct Area<'a>(&'a VmaNew);

impl Area<'_> {
    /// The area that a C caller's `mmap` operation is asked to fill.
    ///
    /// # Safety
    ///
    /// `area` is that, and nobody else uses it as long as the result lives.
    pub(crate) unsafe fn from_raw<'a>(area: *mut bindings::vm_area_struct) -> Area<'a> {
        // SAFETY: `area` is the area of an `mmap` operation, and nobody else uses it as long as the
        // result lives.
        Area(unsafe { VmaNew::from_raw(area) })
    }

    /// Makes it one that shows memory of the kernel to be read, and never anything else.
    ///
    /// # Errors
    ///
    /// `EPERM` for one that is private, writable or executable.
    pub(crate) fn read_only(&self) -> Result {
        let shared = self.0.flags() & bindings::VM_MAYSHARE as usize != 0;
        if self.0.writable() || self.0.executable() || !shared {
            return Err(EPERM);
        }
        self.0.set_dontcopy();
        self.0.set_dontexpand();
        self.0.set_dontdump();
        self.0.try_clear_maywrite()
    }

    /// The first page of the file that it shows.
    pub(crate) fn first(&self) -> usize {
        // SAFETY: the area is valid for the call.
        unsafe { (*self.0.as_ptr()).vm_pgoff }
    }

    /// How many pages it has.
    pub(crate) fn len(&self) -> usize {
        self.0.end().wrapping_sub(self.0.start()) / PAGE_SIZE
    }

    /// Shows the pages at `addresses`, as many as it has, from its start on.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; `EINVAL` for another number of them.
    ///
    /// # Safety
    ///
    /// Each address is that of a page in a live block of [`Pages`], whose bytes anybody may read.
    /// (The mapping has a reference of its own on it.)
    pub(crate) unsafe fn show(&self, addresses: &[NonNull<u8>]) -> Result {
        if addresses.len() != self.len() {
            return Err(EINVAL);
        }
        let mut pages = KVVec::with_capacity(addresses.len(), GFP_KERNEL)?;
        for address in addresses {
            // SAFETY: at `address` is a page that the caller may show.
            pages.push(
                unsafe { bindings::rtrace_page_at(address.as_ptr().cast()) },
                GFP_KERNEL,
            )?;
        }
        let mut left = pages.len();
        // SAFETY: the area is being made, and is as long as there are pages.
        to_result(unsafe {
            bindings::vm_insert_pages(
                self.0.as_ptr(),
                self.0.start(),
                pages.as_mut_ptr(),
                &mut left,
            )
        })
    }
}

static AREA_OPERATIONS: Table<bindings::vm_operations_struct> =
    Table(bindings::vm_operations_struct {
        open: Some(area_open),
        close: Some(area_close),
        may_split: Some(area_split),
        ..pin_init::zeroed()
    });

/// What the areas of one mapping share.
struct Mapped {
    _held: KBox<dyn Send + Sync>,
}

/// Has `file` mapped into `area`.
///
/// # Safety
///
/// `area` is one that an `mmap` operation is asked to fill.
pub(super) unsafe fn map(file: &dyn PageFile, area: *mut bindings::vm_area_struct) -> Result {
    // SAFETY: `area` is one that an `mmap` operation is asked to fill.
    let new = unsafe { Area::from_raw(area) };
    let mapped = Arc::new(
        Mapped {
            _held: file.map(&new)?,
        },
        GFP_KERNEL,
    )?;
    // SAFETY: the area is being made and nobody else uses it; `area_close` takes the reference
    // back.
    unsafe {
        (*area).vm_private_data = Arc::into_raw(mapped).cast_mut().cast();
        (*area).vm_ops = &AREA_OPERATIONS.0;
    }
    Ok(())
}

/// An area of ours is moved: for a moment there are two.
///
/// # Safety
///
/// As the memory management calls it, for an area of [`map`].
unsafe extern "C" fn area_open(area: *mut bindings::vm_area_struct) {
    // SAFETY: `map` has put the reference there, and the other area keeps it.
    let mapped = core::mem::ManuallyDrop::new(unsafe {
        Arc::from_raw((*area).vm_private_data.cast::<Mapped>())
    });
    core::mem::forget(Arc::clone(&mapped));
}

/// # Safety
///
/// As the memory management calls it, for an area of [`map`].
unsafe extern "C" fn area_close(area: *mut bindings::vm_area_struct) {
    // SAFETY: each area has one reference, which goes with it.
    drop(unsafe { Arc::from_raw((*area).vm_private_data.cast::<Mapped>()) });
}

/// Parts of a mapping cannot go by themselves.
///
/// # Safety
///
/// As the memory management calls it, for an area of [`map`].
unsafe extern "C" fn area_split(_area: *mut bindings::vm_area_struct, _at: c_ulong) -> c_int {
    EINVAL.to_errno()
}
