// SPDX-License-Identifier: GPL-2.0

//! Stand-ins for what the buffer's glue takes from the `kernel` crate. Atomics, locks and grace
//! periods are loom's, or made of them, with `cfg(loom)`.

pub mod alloc;
pub mod init;
pub mod rcu;
pub mod sync;

/// The memory that a sub-buffer of order 0 has: as little as the core takes.
pub mod page {
    /// Bytes of a page.
    pub const PAGE_SIZE: usize = 64;
}

/// There is one CPU.
pub mod cpu {
    /// The number of a CPU.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct CpuId(u32);

    impl CpuId {
        /// The CPU with this number.
        pub fn from_u32(id: u32) -> Option<Self> {
            (id < nr_cpu_ids()).then_some(Self(id))
        }

        /// Its number.
        pub fn as_u32(self) -> u32 {
            self.0
        }
    }

    /// One more than the highest number.
    pub fn nr_cpu_ids() -> u32 {
        1
    }
}

/// Errors, as numbers.
pub mod error {
    /// An error.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct Error(i32);

    /// A result with an [`Error`].
    pub type Result<T = (), E = Error> = core::result::Result<T, E>;

    /// The errors by name.
    pub mod code {
        use super::Error;
        pub const EAGAIN: Error = Error(11);
        pub const ENOMEM: Error = Error(12);
        pub const EBUSY: Error = Error(16);
        pub const ENODEV: Error = Error(19);
        pub const EINVAL: Error = Error(22);
    }
}

/// What every file has.
pub mod prelude {
    pub use crate::alloc::{KBox, KVVec, KVec, VVec, Vec, GFP_KERNEL};
    pub use crate::error::code::*;
    pub use crate::error::{Error, Result};
    pub use crate::init::PinInit;
    pub use crate::pin_init;
    pub use core::pin::Pin;
    pub use rtrace_host_kernel_macros::pin_data;
}
