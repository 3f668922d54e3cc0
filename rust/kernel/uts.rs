// SPDX-License-Identifier: GPL-2.0

//! The kernel's release and preemption model.
//!
//! C headers: [`include/linux/utsname.h`](srctree/include/linux/utsname.h),
//! [`include/linux/preempt.h`](srctree/include/linux/preempt.h)

use core::ffi::CStr;
use kernel::bindings;

/// The release as `uname -r` shows it outside containers.
pub(crate) fn release() -> &'static [u8] {
    // SAFETY: the initial name space lives forever; its release is a string that does not change
    // after boot.
    unsafe { CStr::from_ptr(bindings::init_utsname_release().cast()) }.to_bytes()
}

/// The preemption model's word, `PREEMPT` for example.
pub(crate) fn preempt_model() -> &'static str {
    // SAFETY: returns a static string; has no preconditions.
    let model = unsafe { CStr::from_ptr(bindings::preempt_model_str().cast()) };
    model.to_str().unwrap_or("unknown")
}
