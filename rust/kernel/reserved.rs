// SPDX-License-Identifier: GPL-2.0

//! Physical memory that was reserved at boot and may hold data of an earlier kernel. And where text
//! and modules begin, by which an earlier kernel's addresses are translated.
//!
//! C headers: `include/linux/mm.h` (`reserve_mem=`), `include/linux/io.h`,
//! `include/linux/module.h`.

use core::ops::Range;
use core::ptr::NonNull;
use kernel::bindings;
use kernel::ffi::{c_char, c_int, c_ulong, c_void};
use kernel::page::PAGE_SIZE;
use kernel::prelude::*;
use kernel::str::CString;
use kernel::sync::atomic::{Atomic, Relaxed};

kernel::sync::global_lock! {
    // SAFETY: `init` runs before any other use, at boot.
    /// Physical memory that a [`Claim`] is there for.
    unsafe(uninit) static CLAIMED: Mutex<KVec<Range<u64>>> = KVec::new();
}

/// Makes the list of memory in use. Once, at boot.
pub(crate) fn init() {
    // SAFETY: called once, before any other use.
    unsafe { CLAIMED.init() };
}

/// The right to use physical memory, of which nobody else can have any part meanwhile.
struct Claim(Range<u64>);

impl Claim {
    /// `EBUSY` for memory that somebody uses, `EINVAL` if it is not made of whole pages, `ENOMEM`.
    /// Task context, sleeps.
    fn new(start: u64, size: u64) -> Result<Self> {
        let page = PAGE_SIZE as u64;
        if start == 0 || size == 0 || start % page != 0 || size % page != 0 {
            return Err(EINVAL);
        }
        let range = start..start.checked_add(size).ok_or(EINVAL)?;
        let mut claimed = CLAIMED.lock();
        if claimed
            .iter()
            .any(|other| other.start < range.end && range.start < other.end)
        {
            return Err(EBUSY);
        }
        claimed.push(range.clone(), GFP_KERNEL)?;
        Ok(Self(range))
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        CLAIMED.lock().retain(|range| *range != self.0);
    }
}

/// Page-aligned memory, mapped, that nobody else uses.
///
/// # Invariants
///
/// `start..start + size` is that, as long as the value is there; any byte is a valid value.
pub(crate) struct Reserved {
    start: NonNull<u8>,
    size: usize,
    of: Of,
}

/// What becomes of the memory in the end.
enum Of {
    /// It was reserved under this name. It goes back to the kernel if that was asked for.
    Name {
        name: CString,
        goes_back: Atomic<bool>,
        _claim: Claim,
    },
    /// It was mapped by its address, and stays.
    Address { _claim: Claim },
    /// Somebody else owns it, and gives it back.
    Owner,
    /// It was allocated.
    Allocated { _words: VVec<u64> },
}

// SAFETY: plain memory that is the value's own.
unsafe impl Send for Reserved {}
// SAFETY: shared references give out addresses alone.
unsafe impl Sync for Reserved {}

impl Reserved {
    /// What `reserve_mem=` has set aside under `name`. It stays set aside in the end, unless
    /// [`Reserved::give_back_in_the_end`] is called. Boot; `ENOENT` without such, `EINVAL` if it is
    /// not made of whole pages, `EBUSY` if somebody has it, `ENOMEM`.
    pub(crate) fn by_name(name: &CStr) -> Result<Self> {
        let (mut start, mut size) = (0, 0);
        // SAFETY: a NUL-terminated name, and places for the answers.
        let at =
            unsafe { bindings::rtrace_reserved_memory(name.as_char_ptr(), &mut start, &mut size) };
        let at = NonNull::new(at.cast::<u8>()).ok_or(ENOENT)?;
        let of = Of::Name {
            name: CString::try_from(name)?,
            goes_back: Atomic::new(false),
            _claim: Claim::new(start, size)?,
        };
        // INVARIANT: who names it in `trace_instance=` gives it to tracing, and the claim is on it.
        Ok(Self {
            start: at,
            size: size as usize,
            of,
        })
    }

    /// Physical memory that the command line has kept from the kernel, as its `memmap=` says. Boot;
    /// `EINVAL` for what is not made of whole pages, `EBUSY` for memory that the kernel or somebody
    /// else uses, `ENOMEM` where it cannot be mapped.
    pub(crate) fn by_address(start: u64, size: u64) -> Result<Self> {
        let claim = Claim::new(start, size)?;
        // SAFETY: it compares with the resources that are known.
        let overlap = unsafe {
            bindings::region_intersects(
                start,
                size as usize,
                bindings::IORESOURCE_SYSTEM_RAM as c_ulong,
                bindings::IORES_DESC_NONE as c_ulong,
            )
        };
        if overlap != bindings::REGION_DISJOINT as c_int {
            return Err(EBUSY);
        }
        // SAFETY: maps, and touches nothing.
        let at = unsafe { bindings::rtrace_map_memory(start, size as usize) };
        let at = NonNull::new(at.cast::<u8>()).ok_or(ENOMEM)?;
        // INVARIANT: the kernel does not use it, as it is no memory of its own; who names it in
        // `trace_instance=` gives it to tracing, and the claim is on it.
        Ok(Self {
            start: at,
            size: size as usize,
            of: Of::Address { _claim: claim },
        })
    }

    /// Memory of a C caller's, of which the whole pages are used. `EINVAL` if there is none.
    ///
    /// # Safety
    ///
    /// `start..start + size` is mapped memory that nobody else uses as long as the value is there.
    pub(crate) unsafe fn lent(start: usize, size: usize) -> Result<Self> {
        let end = start.checked_add(size).ok_or(EINVAL)? & !(PAGE_SIZE - 1);
        let start = start.checked_next_multiple_of(PAGE_SIZE).ok_or(EINVAL)?;
        let size = end
            .checked_sub(start)
            .filter(|size| *size != 0)
            .ok_or(EINVAL)?;
        let start = NonNull::new(start as *mut u8).ok_or(EINVAL)?;
        // INVARIANT: the memory is mapped and nobody else uses it.
        Ok(Self {
            start,
            size,
            of: Of::Owner,
        })
    }

    /// Memory that holds what this holds now, of which bytes may change meanwhile. Task context,
    /// may sleep. `ENOMEM`.
    pub(crate) fn copy(&self) -> Result<Self> {
        let count = self.size / size_of::<u64>();
        let mut words = VVec::with_capacity(count, GFP_KERNEL)?;
        for index in 0..count {
            // SAFETY: by the type invariant within the memory, which begins with a page; volatile
            // for who changes it.
            let word = unsafe { self.start.cast::<u64>().add(index).read_volatile() };
            words.push(word, GFP_KERNEL)?;
        }
        let start = NonNull::new(words.as_mut_ptr().cast()).ok_or(ENOMEM)?;
        // INVARIANT: `vmalloc()` gives whole pages, which stay where they are, and have as many
        // bytes.
        Ok(Self {
            start,
            size: self.size,
            of: Of::Allocated { _words: words },
        })
    }

    /// Whether it is such a copy.
    pub(crate) fn is_copy(&self) -> bool {
        matches!(self.of, Of::Allocated { .. })
    }

    /// Where it begins.
    pub(crate) fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// Its size in bytes.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// Whether it is memory of the kernel's own map, so that its pages can be shown to user space.
    pub(crate) fn has_pages(&self) -> bool {
        matches!(self.of, Of::Name { .. })
    }

    /// Whether it can be given back. What was mapped by its address cannot.
    pub(crate) fn can_go(&self) -> bool {
        !matches!(self.of, Of::Address { .. })
    }

    /// What was reserved under a name goes back to the kernel in the end, and what it holds is lost.
    /// Any context.
    pub(crate) fn give_back_in_the_end(&self) {
        if let Of::Name { goes_back, .. } = &self.of {
            goes_back.store(true, Relaxed);
        }
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        if let Of::Name {
            name, goes_back, ..
        } = &self.of
        {
            if goes_back.load(Relaxed) {
                // SAFETY: a NUL-terminated name; by the type invariant nobody uses the memory any
                // more. Should the name be gone, the memory stays reserved.
                unsafe { bindings::reserve_mem_release_by_name(name.as_char_ptr()) };
            }
        }
    }
}

/// Where the kernel's text begins.
pub(crate) fn text_start() -> usize {
    // SAFETY: reads a constant.
    unsafe { bindings::rtrace_text_start() }
}

/// Whether it is an address in the kernel's image.
pub(crate) fn is_kernel_image(addr: usize) -> bool {
    // SAFETY: a comparison of addresses.
    unsafe { bindings::rtrace_is_kernel_image(addr) }
}

/// Runs `f` for each module there is, with its name and where its text begins. Task context.
pub(crate) fn for_each_module(mut f: impl FnMut(&[u8], usize)) {
    // `f` may be one that changes nothing. kCFI takes only one that does for `FnMut`.
    let mut each: &mut dyn FnMut(&[u8], usize) = &mut |name, text| f(name, text);
    // SAFETY: `with_module` gets the address of `each`, which outlives the call.
    unsafe {
        bindings::rtrace_for_each_module(Some(with_module), core::ptr::from_mut(&mut each).cast())
    };
}

/// # Safety
///
/// `module` is there during the call; `data` is what [`for_each_module`] passes, used by nobody else.
unsafe extern "C" fn with_module(module: *mut bindings::module, data: *mut c_void) -> c_int {
    // SAFETY: `data` is the reference that `for_each_module` passes, and nobody else uses it
    // meanwhile.
    let each = unsafe { &mut *data.cast::<&mut dyn FnMut(&[u8], usize)>() };
    // SAFETY: the module is there during the call.
    unsafe { module_text(module, each) };
    0
}

/// Tells `f` the name of a module and where its text begins.
///
/// # Safety
///
/// The module is there as long as this runs.
pub(crate) unsafe fn module_text(module: *mut bindings::module, f: impl FnOnce(&[u8], usize)) {
    let mut name: *const c_char = core::ptr::null();
    // SAFETY: `module` is there as long as this runs.
    let text = unsafe { bindings::rtrace_module_text(module, &mut name) };
    if !name.is_null() {
        // SAFETY: a module's name is NUL-terminated, and lives as long as the module.
        f(unsafe { CStr::from_char_ptr(name) }.to_bytes(), text);
    }
}
