// SPDX-License-Identifier: GPL-2.0

//! What can be traced and what is: `available_filter_functions`,
//! `available_filter_functions_addrs`, `enabled_functions`, `touched_functions` and
//! `dyn_ftrace_total_info`.
//!
//! The listings walk the sites by number, so a module that goes between two reads shifts what
//! follows.

use crate::core::format::Out;
use crate::kernel::fs::pseudo_fs::{OpenFlags, Opening};
use crate::trace::files::control::{shown, Control, Text};
use crate::trace::files::listing::{self, Lines};
use crate::trace::files::{Node, Place};
use crate::trace::ftrace::sites::{self, Site};
use core::fmt;
use kernel::prelude::*;

/// A listing of sites.
#[derive(Clone, Copy)]
pub(super) enum Functions {
    /// `available_filter_functions`: all; the line's number is what filter files take for an index.
    Available,
    /// `available_filter_functions_addrs`: all, with the site's address.
    Addresses,
    /// `enabled_functions`: those with a callback now, and what the callback is.
    Enabled,
    /// `touched_functions`: those that ever had one.
    Touched,
}

impl Functions {
    fn wants(self, site: &Site) -> bool {
        match self {
            Self::Available | Self::Addresses => true,
            Self::Enabled => site.is_enabled(),
            Self::Touched => site.is_touched(),
        }
    }
}

impl Node for Functions {
    fn open(&'static self, _at: &Place, _how: &OpenFlags) -> Result<Opening> {
        listing::open(*self)
    }
}

impl Lines for Functions {
    fn seek(&self, at: u64) -> Option<u64> {
        let site = sites::next_where(usize::try_from(at).ok()?, |site| self.wants(site))?;
        Some(site.index() as u64)
    }

    fn show(&self, at: u64, mut out: &mut dyn Out) -> fmt::Result {
        // One that went since `seek` leaves no line.
        let Some(site) = usize::try_from(at).ok().and_then(sites::by_index) else {
            return Ok(());
        };
        if matches!(self, Self::Addresses) {
            write!(out, "{:x} ", site.addr())?;
        }
        site.write_name(&mut out)?;
        if matches!(self, Self::Enabled | Self::Touched) {
            site.write_state(&mut out)?;
        }
        out.bytes(b"\n")
    }
}

/// `dyn_ftrace_total_info`: how many sites there are, and what preparing them took.
pub(super) struct TotalInfo;

impl Control for TotalInfo {
    fn show(&self, _at: &Place, out: &mut Text) -> Result {
        shown(sites::write_total_info(out))
    }
}
