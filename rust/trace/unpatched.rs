// SPDX-License-Identifier: GPL-2.0

//! Replaces `ftrace.rs` in kernels without patch sites (`CONFIG_FUNCTION_TRACER=n`, as on User Mode
//! Linux): the functions that stack recording needs. Features, files and tracers that need patch
//! sites do not exist there.

use super::tasks::stack::{Has, Trampolines};

impl Has for Trampolines {
    fn has(_addr: usize) -> bool {
        false
    }
}
