// SPDX-License-Identifier: GPL-2.0

//! Patch sites and what is called from them: the architecture's part, sites, ops, sets of sites,
//! direct callers, who may share a site, modules, and which functions recursed.

#[allow(unsafe_code, reason = "what an architecture promises")]
pub(crate) mod arch;
pub(crate) mod direct;
pub(crate) mod hash;
pub(crate) mod modules;
pub(crate) mod ops;
#[cfg(CONFIG_FTRACE_RECORD_RECURSION)]
pub(crate) mod recursed;
mod sharing;
pub(crate) mod sites;
pub(crate) mod untraceable;
