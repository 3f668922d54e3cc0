// SPDX-License-Identifier: GPL-2.0

//! What counts instead of recording.

#[cfg(CONFIG_FUNCTION_TRACER)]
pub(crate) mod function;
#[cfg(CONFIG_STACK_TRACER)]
pub(crate) mod stack_depth;
