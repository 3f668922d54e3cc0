// SPDX-License-Identifier: GPL-2.0

//! What stacks ask of patch sites where the kernel has none (`CONFIG_FUNCTION_TRACER=n`, as on User
//! Mode Linux): there are no trampolines. The features, files and tracers that need sites do not
//! exist there.

/// In place of `ftrace.rs`.
pub(crate) mod ftrace {
    /// In place of `ops.rs`.
    pub(crate) mod ops {
        use crate::trace::tasks::stack::{Has, Trampolines};

        impl Has for Trampolines {
            fn has(_addr: usize) -> bool {
                false
            }
        }
    }
}
