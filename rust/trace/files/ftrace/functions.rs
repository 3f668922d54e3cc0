// SPDX-License-Identifier: GPL-2.0

//! Functions that can be traced and functions that are traced: `available_filter_functions`,
//! `available_filter_functions_addrs`, `enabled_functions`, `touched_functions` and
//! `dyn_ftrace_total_info`.
//!
//! A listing reads the sites by index. If a module is unloaded between two reads, the sites after
//! it move.

use crate::core::format::Out;
use crate::core::parse::options::Flag;
use crate::kernel::fs::pseudo_fs::{OpenFlags, Opening};
use crate::trace::files::control::{shown, Control, Text};
use crate::trace::files::listing::{self, Lines};
use crate::trace::files::{Node, Place};
use crate::trace::ftrace::sites::{self, Site};
use crate::trace::ftrace::{modules, ops};
use core::fmt;
use kernel::prelude::*;

/// A listing of sites.
#[derive(Clone, Copy)]
pub(super) enum Functions {
    /// `available_filter_functions`: all sites. A filter file takes the line number as an index.
    Available,
    /// `available_filter_functions_addrs`: all sites with their addresses.
    Addresses,
    /// `enabled_functions`: sites that have a callback now, each with its callback.
    Enabled,
    /// `touched_functions`: sites that have had a callback at any time.
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
    fn open(&'static self, at: &Place, _how: &OpenFlags) -> Result<Opening> {
        listing::open(Listing {
            functions: *self,
            demangle: at.instance.options().has(match self {
                Self::Available | Self::Addresses => Flag::RustPaths,
                Self::Enabled | Self::Touched => Flag::RustDemangle,
            }),
        })
    }
}

/// An open listing.
struct Listing {
    functions: Functions,
    /// Rust functions are shown as paths.
    demangle: bool,
}

impl Lines for Listing {
    fn seek(&self, at: u64) -> Option<u64> {
        let wants = |site: &Site| self.functions.wants(site);
        let site = sites::next_where(usize::try_from(at).ok()?, wants)?;
        Some(site.index() as u64)
    }

    fn show(&self, at: u64, mut out: &mut dyn Out) -> fmt::Result {
        let Ok(index) = usize::try_from(at) else {
            return Ok(());
        };
        if matches!(self.functions, Functions::Enabled | Functions::Touched) {
            let wants = |site: &Site| self.functions.wants(site);
            return ops::write_line(index, wants, self.demangle, &mut out);
        }
        // A site that was removed after `seek` prints no line.
        let written = sites::with_index(index, |site| {
            if matches!(self.functions, Functions::Addresses) {
                write!(out, "{:x} ", site.addr())?;
            }
            site.write_name(self.demangle, &mut out)?;
            out.bytes(b"\n")
        });
        written.unwrap_or(Ok(()))
    }
}

/// `dyn_ftrace_total_info`: how many sites there are, and how much memory and time they took at
/// boot.
pub(super) struct TotalInfo;

impl Control for TotalInfo {
    fn show(&self, _at: &Place, out: &mut Text) -> Result {
        shown(modules::write_total_info(out))
    }
}
