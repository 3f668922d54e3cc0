// SPDX-License-Identifier: GPL-2.0

//! The PCI devices of the machine.
//!
//! C header: `include/linux/pci.h`.

use core::ptr::null_mut;
use kernel::bindings;
use kernel::ffi::c_uint;
use kernel::str::{CStr, CStrExt};

/// Any maker, any model: `PCI_ANY_ID`.
const ANY: c_uint = !0;

/// The devices, one after the other.
///
/// # Invariants
///
/// `last` is null or a counted reference.
pub(crate) struct Devices {
    last: *mut bindings::pci_dev,
    ended: bool,
}

// SAFETY: any task may give a reference to a device back.
unsafe impl Send for Devices {}

impl Devices {
    /// Before the first device.
    pub(crate) fn new() -> Self {
        // INVARIANT: null.
        Self {
            last: null_mut(),
            ended: false,
        }
    }

    /// Goes to the next device, and gives it to `f`. None after the last one. Task context, may
    /// sleep.
    pub(crate) fn next<R>(&mut self, f: impl FnOnce(Device<'_>) -> R) -> Option<R> {
        if self.ended {
            return None;
        }
        // INVARIANT: what this gives is null or counted.
        // SAFETY: `last` is null or counted, and that reference ends here.
        self.last = unsafe { bindings::pci_get_device(ANY, ANY, self.last) };
        // SAFETY: it is null or counted as long as `self` is borrowed.
        match unsafe { self.last.as_ref() } {
            Some(device) => Some(f(Device(device))),
            None => {
                self.ended = true;
                None
            }
        }
    }
}

impl Drop for Devices {
    fn drop(&mut self) {
        // SAFETY: null or counted, and not used any more.
        unsafe { bindings::pci_dev_put(self.last) };
    }
}

/// A device.
#[derive(Clone, Copy)]
pub(crate) struct Device<'a>(&'a bindings::pci_dev);

impl<'a> Device<'a> {
    /// The numbers of its maker and of the model.
    pub(crate) fn ids(self) -> (u16, u16) {
        (self.0.vendor, self.0.device)
    }

    /// The number of its bus; the device and the function there.
    pub(crate) fn place(self) -> (u8, u8) {
        // SAFETY: a device keeps its bus.
        let bus = unsafe { (*self.0.bus).number };
        (bus, self.0.devfn as u8)
    }

    /// Its interrupt.
    pub(crate) fn irq(self) -> u32 {
        self.0.irq
    }

    /// Its regions, the ROM behind the others: first address, last address, flags.
    pub(crate) fn regions(self) -> impl Iterator<Item = (u64, u64, u64)> + 'a {
        let regions = self.0.resource.iter();
        regions.map(|region| (region.start, region.end, region.flags as u64))
    }

    /// Gives `f` the name of its driver. It is empty if there is none, or if that changes now.
    pub(crate) fn with_driver<R>(self, f: impl FnOnce(&[u8]) -> R) -> R {
        let device = (&raw const self.0.dev).cast_mut();
        // SAFETY: the device is held.
        if !unsafe { bindings::rtrace_device_trylock(device) } {
            return f(b"");
        }
        // SAFETY: the device is held.
        let driver = unsafe { bindings::pci_dev_driver(self.0).as_ref() };
        let result = match driver {
            // SAFETY: the driver stays while the device is locked, and its name is a string.
            Some(driver) => f(unsafe { CStr::from_char_ptr(driver.name) }.to_bytes()),
            None => f(b""),
        };
        // SAFETY: locked above.
        unsafe { bindings::rtrace_device_unlock(device) };
        result
    }
}
