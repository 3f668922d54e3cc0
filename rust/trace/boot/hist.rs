// SPDX-License-Identifier: GPL-2.0

//! Histograms of the boot configuration: the keys below `event.GROUP.EVENT.hist`, which are put
//! together to a line of the file `trigger`.
//!
//! A key that is a number has keys of its own in the same form, so that an event can have several
//! histograms, and a histogram several actions of a handler.

use super::config::TEXT_MAX;
use super::Text;
use crate::core::parse::parser::is_space;
use crate::kernel::bootconfig::Key;
use kernel::prelude::*;
use kernel::str::CString;

/// Calls `add` with the line of each histogram below `hist`. Task context, may sleep.
pub(super) fn each(hist: Key<'_>, mut add: impl FnMut(&[u8]) -> Result) {
    for key in numbered(hist) {
        attempt(key, &mut add);
    }
    if hist.key(c"keys").is_some() {
        attempt(hist, &mut add);
    }
}

fn attempt(key: Key<'_>, add: &mut impl FnMut(&[u8]) -> Result) {
    let mut line = Line(KVec::new());
    match line.compose(key) {
        Err(error) => pr_err!("boot configuration: hist {}: {error:?}\n", Text(key.name())),
        Ok(()) => {
            if let Err(error) = add(&line.0) {
                pr_err!("boot configuration: {}: {error:?}\n", Text(&line.0));
            }
        }
    }
}

/// The keys that are numbers.
fn numbered(key: Key<'_>) -> impl Iterator<Item = Key<'_>> {
    let is_number = |key: &Key<'_>| key.name().first().is_some_and(u8::is_ascii_digit);
    key.keys().filter(is_number)
}

/// The value of the key `name` below `key`. One without value is empty, which is refused later, as in
/// C: a histogram is not made as if the key were missing. One that only has keys below it is none.
fn text<'a>(key: Key<'a>, name: &CStr) -> Option<&'a [u8]> {
    let found = key.key(name)?;
    match key.values(name).next() {
        None if found.keys().next().is_some() => None,
        value => Some(value.unwrap_or(b"")),
    }
}

/// A line for the file `trigger`.
struct Line(KVec<u8>);

impl Line {
    /// Appends. `E2BIG` from [`TEXT_MAX`] bytes on, `ENOMEM`.
    fn put(&mut self, parts: &[&[u8]]) -> Result {
        for part in parts {
            self.0.extend_from_slice(part, GFP_KERNEL)?;
        }
        match self.0.len() < TEXT_MAX {
            true => Ok(()),
            false => Err(E2BIG),
        }
    }

    /// Appends values with commas between them. `EINVAL` if there is none.
    fn list<'v>(&mut self, values: impl Iterator<Item = &'v [u8]>) -> Result {
        let mut any = false;
        for value in values {
            let comma: &[u8] = if any { b"," } else { b"" };
            self.put(&[comma, value])?;
            any = true;
        }
        match any {
            true => Ok(()),
            false => Err(EINVAL),
        }
    }

    fn compose(&mut self, hist: Key<'_>) -> Result {
        self.put(&[b"hist:keys="])?;
        self.list(hist.values(c"keys"))?;
        for name in [c"values", c"sort"] {
            if hist.key(name).is_some() {
                self.put(&[b":", name.to_bytes(), b"="])?;
                self.list(hist.values(name))?;
            }
        }
        for name in [c"size", c"name"] {
            if let Some(value) = text(hist, name) {
                self.put(&[b":", name.to_bytes(), b"=", value])?;
            }
        }
        if let Some(variables) = hist.key(c"var") {
            for variable in variables.keys() {
                let name = CString::try_from_fmt(fmt!("{}", Text(variable.name())))?;
                if let Some(value) = text(variables, &name) {
                    self.put(&[b":", variable.name(), b"="])?;
                    let mut words = value.split(|byte| is_space(*byte));
                    words.try_for_each(|word| self.put(&[word]))?;
                }
            }
        }
        let mut states = [c"pause", c"continue", c"clear"].into_iter();
        if let Some(state) = states.find(|state| hist.key(state).is_some()) {
            self.put(&[b":", state.to_bytes()])?;
        }
        for (handler, of) in [
            (c"onmax", c"var"),
            (c"onchange", c"var"),
            (c"onmatch", c"event"),
        ] {
            let Some(key) = hist.key(handler) else {
                continue;
            };
            for key in numbered(key) {
                self.action(handler, of, key)?;
            }
            if key.key(of).is_some() {
                self.action(handler, of, key)?;
            }
        }
        match text(hist, c"filter") {
            Some(filter) => self.put(&[b" if ", filter]),
            None => Ok(()),
        }
    }

    /// Appends the action of a handler, whose own parameter is the value of `of`.
    fn action(&mut self, handler: &CStr, of: &CStr, key: Key<'_>) -> Result {
        let value = key.value(of).ok_or(EINVAL)?;
        self.put(&[b":", handler.to_bytes(), b"(", value, b")"])?;
        for action in [c"trace", c"save"] {
            if key.key(action).is_some() {
                self.put(&[b".", action.to_bytes(), b"("])?;
                self.list(key.values(action))?;
                return self.put(&[b")"]);
            }
        }
        match key.key(c"snapshot") {
            Some(_) => self.put(&[b".snapshot()"]),
            None => Err(EINVAL),
        }
    }
}
