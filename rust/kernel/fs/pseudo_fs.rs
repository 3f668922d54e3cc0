// SPDX-License-Identifier: GPL-2.0

//! Files of pseudo file systems: what happens between `open(2)` and the last `close(2)`.
//!
//! A [`FileType`] is what a name in the directory stands for; opening it yields an [`OpenFile`],
//! one for each `open(2)`, which answers reads, writes and polls and is dropped at the last close.
//! Neither knows inodes or `struct file`; this module alone does.
//!
//! Neighbours: [`super::tracefs`] makes the directories and attaches a `FileType` to an inode;
//! [`super::seq_file`] serves listings whose `OpenFile` answers [`OpenFile::rows`].
//!
//! Everything here runs in task context and may sleep. No lock of this module is held while a
//! method runs; the VFS holds the file position's lock around `read` and `write` of one `struct
//! file`, unless the file said [`Seek::Never`], so such files must be ready for concurrent calls
//! (`&self` is all they get).
//!
//! C headers: `include/linux/fs.h`, `include/linux/poll.h`.

use super::lockdown::check_lockdown;
use super::page_file::{self, PageFile, SpliceCall};
use super::seq_file;
use crate::kernel::interop::{errno, Table};
use crate::kernel::wait_queue::WaitQueue;
use core::{
    marker::PhantomData,
    ops::Deref,
    ptr::{self, NonNull},
};
use kernel::{
    bindings,
    fs::File,
    iov::{IovIterDest, IovIterSource},
    prelude::*,
    uaccess::{UserPtr, UserSlice, UserSliceReader},
};

/// How `open(2)` was called.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenFlags {
    /// Opened for reading.
    pub(crate) read: bool,
    /// Opened for writing.
    pub(crate) write: bool,
    /// `O_TRUNC`. The VFS has already checked that the file may be written.
    pub(crate) trunc: bool,
}

/// What a name in the file system stands for. Lives as long as the inode.
pub(crate) trait FileType: Send + Sync {
    /// Called for each `open(2)`, after permissions and lockdown were checked. May sleep.
    fn open(&self, how: &OpenFlags) -> Result<Opening>;
}

/// An open file, as [`FileType::open`] returns it.
///
/// # Invariants
///
/// The object is pinned: nothing takes it out of the box or hands out `&mut` to it.
pub(crate) struct Opening {
    file: KBox<dyn OpenFile>,
    /// Goes after the file.
    _kept: Option<KBox<dyn Kept>>,
}

/// What an open file keeps until it is released; see [`Opening::keep`].
pub(crate) trait Kept: Send + Sync {}

impl Opening {
    /// Boxes an open file. `ENOMEM`.
    pub(crate) fn new(file: impl OpenFile + 'static) -> Result<Self> {
        // INVARIANT: this module only ever derefs the box.
        Ok(Self {
            file: KBox::new(file, GFP_KERNEL_ACCOUNT)?,
            _kept: None,
        })
    }

    /// Boxes an open file that has to be initialised in place, say because it holds a lock.
    ///
    /// `ENOMEM`, or what the initialiser says.
    pub(crate) fn pin_init<T: OpenFile + 'static, E>(init: impl PinInit<T, E>) -> Result<Self>
    where
        Error: From<E>,
    {
        let file = KBox::pin_init(init, GFP_KERNEL_ACCOUNT)?;
        // SAFETY: goes straight into a type that keeps it pinned.
        let file = unsafe { Pin::into_inner_unchecked(file) };
        // INVARIANT: as in `new`.
        Ok(Self { file, _kept: None })
    }

    /// Keeps `what` until after the file was released. `ENOMEM`.
    pub(crate) fn keep(self, what: impl Kept + 'static) -> Result<Self> {
        Ok(Self {
            _kept: Some(KBox::new(what, GFP_KERNEL_ACCOUNT)?),
            ..self
        })
    }
}

impl Deref for Opening {
    type Target = dyn OpenFile;

    fn deref(&self) -> &Self::Target {
        &*self.file
    }
}

/// Whether the file has a position.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seek {
    /// `lseek(2)` works, `pread(2)` and `pwrite(2)` too.
    Any,
    /// `lseek(2)` goes to the beginning, whatever is asked for. Of files that are open for writing
    /// only.
    Rewind,
    /// There is a position, which reading moves; `lseek(2)` and positioned input and output are
    /// `ESPIPE`.
    Onward,
    /// A stream: `lseek(2)` and positioned input and output are `ESPIPE`.
    Never,
}

/// One open file. Dropped at the last close, where it may sleep.
///
/// The defaults are those of a file that lacks the operation: `EINVAL` for reads and writes.
pub(crate) trait OpenFile: Send + Sync {
    /// Called once, when the `open(2)` has succeeded: it is a close that drops the file then.
    fn opened(&self) {}

    /// Answers one read; returns the number of bytes put into `call`, 0 at the end.
    fn read(&self, _call: &mut ReadCall<'_>) -> Result<usize> {
        Err(EINVAL)
    }

    /// Takes one write; returns how many of the bytes were used.
    fn write(&self, _call: &mut WriteCall<'_>) -> Result<usize> {
        Err(EINVAL)
    }

    /// Takes one whole `writev(2)`, of a file that [takes them whole](Self::takes_vectors).
    fn write_vector(&self, _call: &mut VectorCall<'_>) -> Result<usize> {
        Err(EINVAL)
    }

    /// Whether the segments of a `writev(2)` belong together. Such a file cannot be seeked in. Asked
    /// once, right after the open.
    fn takes_vectors(&self) -> bool {
        false
    }

    /// The listing that reads are served from, for files with C `seq_file` semantics;
    /// [`Self::read`] is not called then. Asked once, right after the open.
    fn rows(&self) -> Option<&dyn seq_file::Rows> {
        None
    }

    /// How it gives away whole pages, if it does. Asked at each such call, and right after the
    /// open.
    fn pages(&self) -> Option<&dyn PageFile> {
        None
    }

    /// Whether there is a file position. Asked once, right after the open.
    fn seek(&self) -> Seek {
        Seek::Any
    }

    /// Can it be waited for by [`Self::poll`]? Others are always ready; `epoll_ctl(2)` of them is
    /// `EPERM`. Asked once, right after the open.
    fn polls(&self) -> bool {
        false
    }

    /// Which operations would not block now. The default is always ready.
    fn poll<'f>(&'f self, _call: &PollCall<'f>) -> PollEvents {
        PollEvents::READABLE.and(PollEvents::WRITABLE)
    }

    /// One `ioctl(2)`; the default knows none. `nonblock` says to answer `EAGAIN` rather than wait.
    fn ioctl(&self, _cmd: u32, _arg: usize, _nonblock: bool) -> Result<isize> {
        Err(ENOTTY)
    }

    /// Called at each `close(2)` of a descriptor of this file, so possibly more than once; an error
    /// is what that close returns.
    fn flush(&self) -> Result {
        Ok(())
    }
}

/// One `read(2)`, `readv(2)` or splice from a file.
pub(crate) struct ReadCall<'a> {
    to: &'a mut IovIterDest<'a>,
    /// The file position; the method moves it if the file has one.
    pub(crate) pos: &'a mut i64,
    /// The open file, which the call keeps.
    file: *mut bindings::file,
    nowait: bool,
}

impl ReadCall<'_> {
    /// How many bytes the caller has room for.
    pub(crate) fn len(&self) -> usize {
        self.to.len()
    }

    /// Whether the caller has no room left.
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether to answer `EAGAIN` rather than wait. Another thread may change that meanwhile.
    pub(crate) fn nonblock(&self) -> bool {
        // SAFETY: the file is open for the call.
        self.nowait || unsafe { is_nonblock(self.file) }
    }

    /// Hands over the next bytes and leaves the position alone. Returns how many fitted.
    ///
    /// `EFAULT` when there was room, but none of the caller's memory could be written.
    pub(crate) fn put(&mut self, bytes: &[u8]) -> Result<usize> {
        let had_room = !self.is_empty();
        let done = self.to.copy_to_iter(bytes);
        if done == 0 && had_room && !bytes.is_empty() {
            return Err(EFAULT);
        }
        Ok(done)
    }

    /// Serves the read from `content`, the whole file, and moves the position.
    #[inline(never)]
    pub(crate) fn put_from(&mut self, content: &[u8]) -> Result<usize> {
        let at = usize::try_from(*self.pos).map_err(|_| EINVAL)?;
        let done = match content.get(at..) {
            Some(rest) => self.put(rest)?,
            None => 0,
        };
        // OVERFLOW: `at + done <= content.len() <= isize::MAX` unless `done` is 0.
        *self.pos = at.wrapping_add(done) as i64;
        Ok(done)
    }
}

/// One `write(2)` to a file, or one segment of a `writev(2)`.
pub(crate) struct WriteCall<'a> {
    from: UserSliceReader,
    /// The file position; the method moves it if the file has one.
    pub(crate) pos: &'a mut i64,
}

impl WriteCall<'_> {
    /// How many bytes are offered and were not taken yet.
    pub(crate) fn len(&self) -> usize {
        self.from.len()
    }

    /// The caller's bytes, to be taken in order. Each byte can be taken once.
    pub(crate) fn reader(&mut self) -> &mut UserSliceReader {
        &mut self.from
    }
}

/// One `writev(2)` to a file.
pub(crate) struct VectorCall<'a>(&'a mut IovIterSource<'a>);

impl VectorCall<'_> {
    /// How many bytes are offered and were not taken yet.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Takes the next bytes, as many as `to` has. `EFAULT`.
    pub(crate) fn read_slice(&mut self, to: &mut [u8]) -> Result {
        match self.0.copy_from_iter(to) == to.len() {
            true => Ok(()),
            false => Err(EFAULT),
        }
    }
}

/// One `poll(2)`, `select(2)` or epoll look at a file, which is borrowed for `'f`. The caller waits
/// on queues that the file has, and that go with it.
pub(crate) struct PollCall<'f> {
    file: &'f File,
    table: *mut bindings::poll_table,
    /// `'f` is that of the file's owner, and no shorter one.
    _file: PhantomData<fn(&'f ()) -> &'f ()>,
}

impl<'f> PollCall<'f> {
    /// The call of somebody else's `poll` operation.
    ///
    /// # Safety
    ///
    /// `file` is open and `table` null or that of the call, both while the result lives; what is
    /// borrowed for `'f` stays as long as the file is open.
    pub(crate) unsafe fn from_raw(
        file: *mut bindings::file,
        table: *mut bindings::poll_table,
    ) -> Self {
        Self {
            // SAFETY: `file` is open while the result lives; no `fdget_pos` is needed to look at it.
            file: unsafe { File::from_raw_file(file) },
            table,
            _file: PhantomData,
        }
    }

    /// Has the caller woken when `queue` is.
    pub(crate) fn wait_on(&self, queue: &'f WaitQueue) {
        // SAFETY: `file` is valid by its type, `table` is null or valid for this call by
        // construction. The queue is borrowed from the file, which `poll(2)` and `select(2)` hold
        // while they are in it; an epoll is taken out by the queue when that goes.
        unsafe { bindings::poll_wait(self.file.as_ptr(), queue.as_ptr(), self.table) }
    }
}

/// What `poll(2)` reports.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct PollEvents(u32);

impl PollEvents {
    /// Nothing is ready.
    pub(crate) const NONE: Self = Self(0);
    /// A read would not block.
    pub(crate) const READABLE: Self = Self(bindings::POLLIN | bindings::POLLRDNORM);
    /// A write would not block.
    pub(crate) const WRITABLE: Self = Self(bindings::POLLOUT | bindings::POLLWRNORM);
    /// The file is of no use any more.
    pub(crate) const ERROR: Self = Self(bindings::POLLERR);
    /// Something has happened since the last look.
    #[cfg(CONFIG_HIST_TRIGGERS)]
    pub(crate) const URGENT: Self = Self(bindings::POLLPRI);

    /// As `poll` operations return them.
    pub(crate) const fn bits(self) -> u32 {
        self.0
    }

    /// Both sets of events.
    pub(crate) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// What `struct file` carries while one of our files is open.
pub(super) struct Opened {
    /// The cursor of a read in progress; borrows from `file` and so goes first.
    pub(super) reading: seq_file::Reading,
    pub(super) file: Opening,
}

type Operations = Table<bindings::file_operations>;

/// The operations of every file with a [`FileType`]; `open` is the first to run.
static FILE_OPERATIONS: Operations = Table(bindings::file_operations {
    open: Some(open),
    llseek: Some(bindings::generic_file_llseek),
    read_iter: Some(read_iter),
    splice_read: Some(bindings::copy_splice_read),
    ..COMMON
});

/// The operations of an open file that [rewinds](Seek::Rewind); put in place by [`open`].
static REWIND_OPERATIONS: Operations = Table(bindings::file_operations {
    llseek: Some(rewind),
    ..COMMON
});

/// The operations of an open file that can be waited for; put in place by [`open`].
static POLL_OPERATIONS: Operations = Table(bindings::file_operations {
    llseek: Some(bindings::generic_file_llseek),
    read_iter: Some(read_iter),
    splice_read: Some(bindings::copy_splice_read),
    poll: Some(poll),
    ..COMMON
});

/// The operations of an open file whose reads are served by C's `seq_file`; put in place by
/// [`open`].
static SEQ_OPERATIONS: Operations = Table(bindings::file_operations {
    llseek: Some(seq_file::llseek),
    read_iter: Some(bindings::seq_read_iter),
    splice_read: Some(bindings::copy_splice_read),
    ..COMMON
});

/// The operations of an open file that gives away pages and can be waited for; put in place by
/// [`open`].
static PAGE_OPERATIONS: Operations = Table(bindings::file_operations {
    poll: Some(poll),
    ..PAGES
});

/// The operations of an open file that gives away pages and is always ready; put in place by
/// [`open`].
static READY_PAGES: Operations = Table(PAGES);

const PAGES: bindings::file_operations = bindings::file_operations {
    llseek: Some(bindings::generic_file_llseek),
    read_iter: Some(read_iter),
    splice_read: Some(splice_read),
    mmap: Some(mmap),
    ..COMMON
};

/// The operations of an open file that takes vectors whole; put in place by [`open`].
static VECTOR_OPERATIONS: Operations = Table(bindings::file_operations {
    write_iter: Some(write_iter),
    compat_ioctl: None,
    ..COMMON
});

const COMMON: bindings::file_operations = bindings::file_operations {
    write: Some(write),
    unlocked_ioctl: Some(ioctl),
    compat_ioctl: Some(ioctl),
    flush: Some(flush),
    release: Some(release),
    ..pin_init::zeroed()
};

/// Makes `inode` a file of type `of`.
///
/// # Safety
///
/// `inode` is a valid regular-file inode that nobody else can see yet, and its owner calls
/// [`detach`] on it when it is freed.
pub(super) unsafe fn attach(inode: *mut bindings::inode, of: KBox<dyn FileType>) -> Result {
    let thin = KBox::new(of, GFP_KERNEL)?;
    // SAFETY: `inode` is valid, and nobody else can see it yet.
    unsafe {
        (*inode).i_private = KBox::into_raw(thin).cast();
        (*inode).__bindgen_anon_3.i_fop = &FILE_OPERATIONS.0;
    }
    Ok(())
}

/// Drops the [`FileType`] of an inode that [`attach`] was called on; others are left alone.
///
/// # Safety
///
/// `inode` is valid, is about to be freed, and no file of it is open or can be opened any more.
pub(super) unsafe fn detach(inode: *mut bindings::inode) {
    // SAFETY: `inode` is valid, and no file of it is open or can be opened any more.
    unsafe {
        if ptr::eq((*inode).__bindgen_anon_3.i_fop, &FILE_OPERATIONS.0) {
            // `attach` made the pointer and set the operations together.
            drop(KBox::<KBox<dyn FileType>>::from_raw(
                (*inode).i_private.cast(),
            ));
            (*inode).i_private = ptr::null_mut();
        }
    }
}

/// Turns a length into what the VFS wants back.
fn count(result: Result<usize>) -> isize {
    match result {
        Ok(n) => n as isize,
        Err(e) => e.to_errno() as isize,
    }
}

/// # Safety
///
/// As the VFS calls `open` of `struct file_operations`, for a file of [`attach`].
unsafe extern "C" fn open(inode: *mut bindings::inode, file: *mut bindings::file) -> c_int {
    // SAFETY: the VFS passes a valid inode, pinned by the file, with our operations, hence
    // `attach`ed.
    let of = unsafe { &*(*inode).i_private.cast::<KBox<dyn FileType>>() };
    // SAFETY: the file is valid and not yet shared.
    let (flags, mode) = unsafe { ((*file).f_flags, (*file).f_mode) };
    let how = OpenFlags {
        read: mode & bindings::FMODE_READ != 0,
        write: mode & bindings::FMODE_WRITE != 0,
        trunc: flags & bindings::O_TRUNC != 0,
    };

    // As among permissions, which kernel code that opens a path does not ask for.
    let opened = check_lockdown()
        .and_then(|()| of.open(&how))
        .and_then(|file| {
            let reading = seq_file::Reading::new();
            Ok(KBox::new(Opened { reading, file }, GFP_KERNEL_ACCOUNT)?)
        });
    // SAFETY: `file` is the file being opened, not yet shared, without private data.
    errno(opened.and_then(|opened| unsafe { install(inode, file, opened) }))
}

/// Puts `opened` into `file`, as its private data or as that of its `seq_file`.
///
/// # Safety
///
/// Called from the open of `file`, which has no private data yet.
unsafe fn install(
    inode: *mut bindings::inode,
    file: *mut bindings::file,
    opened: KBox<Opened>,
) -> Result {
    let seek = opened.file.seek();
    if opened.file.pages().is_some() {
        let operations = match opened.file.polls() {
            true => &PAGE_OPERATIONS,
            false => &READY_PAGES,
        };
        // SAFETY: `file` is not yet shared; neither table has a module.
        unsafe { (*file).f_op = &operations.0 };
    } else if opened.file.takes_vectors() {
        // SAFETY: `file` is not yet shared; neither table has a module.
        unsafe { (*file).f_op = &VECTOR_OPERATIONS.0 };
    } else if opened.file.polls() {
        // SAFETY: `file` is not yet shared; neither table has a module.
        unsafe { (*file).f_op = &POLL_OPERATIONS.0 };
    } else if seek == Seek::Rewind {
        // SAFETY: `file` is not yet shared; neither table has a module.
        unsafe { (*file).f_op = &REWIND_OPERATIONS.0 };
    }

    if opened.file.rows().is_some() {
        // SAFETY: `file` is being opened and its private data is null, as `seq_open` asks.
        unsafe { seq_file::open(file, opened)? };
        // The file's reference on the operations' module moves over; both tables have none.
        // SAFETY: `file` is not yet shared.
        unsafe { (*file).f_op = &SEQ_OPERATIONS.0 };
    } else {
        // SAFETY: `file` is not yet shared.
        unsafe { (*file).private_data = KBox::into_raw(opened).cast() };
    }

    // SAFETY: valid for the two objects of an open in progress; neither fails.
    unsafe {
        match seek {
            Seek::Any | Seek::Rewind => 0,
            Seek::Onward => bindings::nonseekable_open(inode, file),
            Seek::Never => bindings::stream_open(inode, file),
        }
    };
    // SAFETY: `file` has its private data now.
    unsafe { of_file(file) }.file.opened();
    Ok(())
}

/// # Safety
///
/// As the VFS calls `llseek` of `struct file_operations`.
unsafe extern "C" fn rewind(
    file: *mut bindings::file,
    _offset: bindings::loff_t,
    _whence: c_int,
) -> bindings::loff_t {
    // SAFETY: `file` is open; the VFS serialises seeks by the position's lock.
    unsafe { (*file).f_pos = 0 };
    0
}

/// The [`Opened`] of a file.
///
/// # Safety
///
/// `file` is valid and [`install`] succeeded for it; the result is used no longer than the VFS call
/// lasts.
unsafe fn of_file<'a>(file: *mut bindings::file) -> &'a Opened {
    // SAFETY: `install` set the private data to one of two things, told apart by the operations.
    unsafe {
        let data = (*file).private_data;
        let raw = if ptr::eq((*file).f_op, &SEQ_OPERATIONS.0) {
            (*data.cast::<bindings::seq_file>()).private
        } else {
            data
        };
        &*raw.cast::<Opened>()
    }
}

/// # Safety
///
/// As the VFS calls `release` of `struct file_operations`, for a file of [`attach`].
unsafe extern "C" fn release(_inode: *mut bindings::inode, file: *mut bindings::file) -> c_int {
    // SAFETY: the last reference to the file goes, nobody else uses it, and `install` made the
    // data.
    unsafe {
        let data = (*file).private_data;
        if ptr::eq((*file).f_op, &SEQ_OPERATIONS.0) {
            seq_file::release(file);
        } else {
            drop(KBox::<Opened>::from_raw(data.cast()));
        }
    }
    0
}

/// # Safety
///
/// As the VFS calls `read_iter` of `struct file_operations`, for a file of [`attach`].
unsafe extern "C" fn read_iter(kiocb: *mut bindings::kiocb, to: *mut bindings::iov_iter) -> isize {
    // SAFETY: the VFS passes a valid control block of an open file of ours and a destination that
    // is ours for the call; nothing else uses `ki_pos` meanwhile.
    let (file, pos, to, nowait) = unsafe {
        let nowait = (*kiocb).ki_flags & bindings::IOCB_NOWAIT != 0;
        (
            (*kiocb).ki_filp,
            &mut (*kiocb).ki_pos,
            IovIterDest::from_raw(to),
            nowait,
        )
    };
    // SAFETY: `file` is an open file of ours.
    let opened = unsafe { of_file(file) };
    count(opened.file.read(&mut ReadCall {
        to,
        pos,
        file,
        nowait,
    }))
}

/// # Safety
///
/// As the VFS calls `splice_read` of `struct file_operations`, for a file of [`attach`].
unsafe extern "C" fn splice_read(
    file: *mut bindings::file,
    pos: *mut bindings::loff_t,
    pipe: *mut bindings::pipe_inode_info,
    len: usize,
    flags: c_uint,
) -> isize {
    // SAFETY: `file` is an open file of ours; `pos` is the position of this call, which the VFS has
    // on its stack or in the locked file.
    let (opened, pos, nonblock) = unsafe { (of_file(file), &mut *pos, is_nonblock(file)) };
    let nonblock = nonblock || flags & bindings::SPLICE_F_NONBLOCK != 0;
    let (Some(pages), Some(pipe)) = (opened.file.pages(), NonNull::new(pipe)) else {
        return EINVAL.to_errno() as isize;
    };
    // SAFETY: a `splice_read` is called with the pipe locked.
    let mut call = unsafe { SpliceCall::from_raw(pipe, pos, len, nonblock) };
    count(pages.splice(&mut call))
}

/// # Safety
///
/// As the VFS calls `mmap` of `struct file_operations`, for a file of [`attach`].
unsafe extern "C" fn mmap(file: *mut bindings::file, area: *mut bindings::vm_area_struct) -> c_int {
    // SAFETY: `file` is an open file of ours.
    let opened = unsafe { of_file(file) };
    let pages = opened.file.pages().ok_or(ENODEV);
    // SAFETY: the area is the one to be filled by this call.
    errno(pages.and_then(|pages| unsafe { page_file::map(pages, area) }))
}

/// # Safety
///
/// As the VFS calls `write` of `struct file_operations`, for a file of [`attach`].
unsafe extern "C" fn write(
    file: *mut bindings::file,
    from: *const c_char,
    len: usize,
    pos: *mut bindings::loff_t,
) -> isize {
    // A stream has no position.
    let mut none = 0;
    // SAFETY: `pos` is null or the position of this call, which nobody else uses meanwhile.
    let pos = unsafe { pos.as_mut() }.unwrap_or(&mut none);
    // SAFETY: `file` is an open file of ours.
    let opened = unsafe { of_file(file) };
    let from = UserSlice::new(UserPtr::from_ptr(from.cast_mut().cast()), len).reader();
    count(opened.file.write(&mut WriteCall { from, pos }))
}

/// # Safety
///
/// As the VFS calls `write_iter` of `struct file_operations`, for a file of [`attach`].
unsafe extern "C" fn write_iter(
    kiocb: *mut bindings::kiocb,
    from: *mut bindings::iov_iter,
) -> isize {
    // SAFETY: the VFS passes a valid control block of an open file of ours and a source that is ours
    // for the call.
    let (opened, from) = unsafe { (of_file((*kiocb).ki_filp), IovIterSource::from_raw(from)) };
    count(opened.file.write_vector(&mut VectorCall(from)))
}

/// # Safety
///
/// `file` is valid.
unsafe fn is_nonblock(file: *mut bindings::file) -> bool {
    // SAFETY: `file` is open; the word may change at any time and is read once.
    let flags = unsafe { ptr::read_volatile(&raw const (*file).f_flags) };
    flags & bindings::O_NONBLOCK != 0
}

/// # Safety
///
/// As the VFS calls `poll` of `struct file_operations`, for a file of [`attach`].
unsafe extern "C" fn poll(
    file: *mut bindings::file,
    table: *mut bindings::poll_table,
) -> bindings::__poll_t {
    // SAFETY: `file` is an open file of ours.
    let opened = unsafe { of_file(file) };
    // SAFETY: the VFS passes the file and the table of this call; what `opened` has stays until the
    // file is released.
    opened
        .file
        .poll(&unsafe { PollCall::from_raw(file, table) })
        .bits()
}

/// # Safety
///
/// As the VFS calls `ioctl` of `struct file_operations`, for a file of [`attach`].
unsafe extern "C" fn ioctl(file: *mut bindings::file, cmd: c_uint, arg: c_ulong) -> c_long {
    // SAFETY: `file` is an open file of ours.
    let opened = unsafe { of_file(file) };
    // SAFETY: `file` is open.
    match opened.file.ioctl(cmd, arg, unsafe { is_nonblock(file) }) {
        Ok(value) => value,
        Err(e) => e.to_errno() as c_long,
    }
}

/// # Safety
///
/// As the VFS calls `flush` of `struct file_operations`, for a file of [`attach`].
unsafe extern "C" fn flush(file: *mut bindings::file, _owner: bindings::fl_owner_t) -> c_int {
    // SAFETY: `file` is an open file of ours.
    errno(unsafe { of_file(file) }.file.flush())
}
