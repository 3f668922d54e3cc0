// SPDX-License-Identifier: GPL-2.0

//! The files of `hwlat_detector/`.

use super::control::{errno, shown, Control, Limit, Text};
use super::node::{row, Row, Scope};
use super::Place;
use crate::core::parse::number;
use crate::core::parse::parser::trim;
use crate::trace::tracers::hwlat::{self, Setting, MODES};
use core::fmt::Write;
use kernel::prelude::*;

/// The rows.
#[rustfmt::skip]
pub(super) static FILES: &[Row] = &[
    row(c"mode", 0o640, Scope::Top, &Mode,
        "which threads tracer hwlat has: one that stays, one that goes on to the next CPU each time, or one on each CPU"),
    row(c"width", 0o640, Scope::Top, &Number(Setting::Width),
        "for how many us tracer hwlat keeps a CPU to itself"),
    row(c"window", 0o640, Scope::Top, &Number(Setting::Window),
        "after how many us it does so again"),
];

struct Number(Setting);

impl Control for Number {
    fn show(&self, _at: &Place, out: &mut Text) -> Result {
        shown(writeln!(out, "{}", self.0.get()))
    }

    fn store(&self, _at: &Place, line: &[u8]) -> Result {
        self.0.set(number::unsigned(line, 10).map_err(errno)?)
    }

    fn advance(&self, _len: usize) -> usize {
        0
    }

    fn limit(&self) -> Limit {
        Limit::NUMBER
    }
}

/// `mode`: all modes, the current one in brackets.
struct Mode;

impl Control for Mode {
    fn show(&self, _at: &Place, out: &mut Text) -> Result {
        let current = hwlat::mode();
        for (n, (name, mode)) in MODES.iter().enumerate() {
            let gap = if n == 0 { "" } else { " " };
            let (open, close) = if *mode == current {
                ("[", "]")
            } else {
                ("", "")
            };
            shown(write!(out, "{gap}{open}{name}{close}"))?;
        }
        shown(writeln!(out))
    }

    fn store(&self, _at: &Place, line: &[u8]) -> Result {
        let name = trim(line);
        let found = MODES.iter().find(|(known, _)| known.as_bytes() == name);
        hwlat::set_mode(found.ok_or(EINVAL)?.1)
    }

    fn is_listing(&self) -> bool {
        true
    }
}
