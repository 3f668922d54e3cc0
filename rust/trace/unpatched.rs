// SPDX-License-Identifier: GPL-2.0

//! In place of `ftrace.rs` where the kernel has no patch sites (`CONFIG_FUNCTION_TRACER=n`, as on
//! User Mode Linux): what stacks ask of it. The features, files and tracers that need sites do not
//! exist there.

use super::tasks::stack::{Has, Trampolines};

impl Has for Trampolines {
    fn has(_addr: usize) -> bool {
        false
    }
}
