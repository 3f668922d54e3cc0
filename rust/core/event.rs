// SPDX-License-Identifier: GPL-2.0

//! Fields, filters, triggers and injected entries of events: parsers and evaluation.
//!
//! | module | implements |
//! | --- | --- |
//! | `declared` | events that Rust code declares |
//! | [`dereference`] | the check of a `print fmt` for bad pointers |
//! | [`field`] | the kind of a field for filters, from its C type |
//! | [`filter`] | `filter` files, and the filter after `if` in triggers |
//! | `hist` | the trigger `hist`, and `hist` files |
//! | [`inject`] | `inject` files |
//! | [`probe`] | `kprobe_events` and `dynamic_events` |
//! | [`refusal`] | the errors of refused commands |
//! | [`synth`] | `synthetic_events` |
//! | [`trigger`] | `trigger` files |
//! | `user` | `user_events_data` |
//!
//! Nothing here allocates or keeps state outside its arguments. A compiled filter is built in
//! memory of the caller.

#![forbid(unsafe_code)]

#[cfg(any(CONFIG_DYNAMIC_EVENTS, not(CONFIG_RTRACE)))]
pub mod declared;
pub mod dereference;
pub mod field;
pub mod filter;
#[cfg(any(CONFIG_HIST_TRIGGERS, not(CONFIG_RTRACE)))]
pub mod hist;
pub mod inject;
#[cfg(any(CONFIG_DYNAMIC_EVENTS, not(CONFIG_RTRACE)))]
#[cfg_attr(
    all(CONFIG_RTRACE, not(CONFIG_PROBE_EVENTS)),
    allow(dead_code, reason = "other kinds of events only use the commands")
)]
pub mod probe;
pub mod refusal;
#[cfg(any(CONFIG_SYNTH_EVENTS, not(CONFIG_RTRACE)))]
pub mod synth;
pub mod trigger;
#[cfg(any(CONFIG_USER_EVENTS, not(CONFIG_RTRACE)))]
pub mod user;
