// SPDX-License-Identifier: GPL-2.0

//! Where evaluation goes on after each predicate.
//!
//! Predicates come in the order of the text, each with the [`Join`] behind it and how tightly that
//! binds. A result that decides a join (true for `||`, false for `&&`) is the result of the whole
//! operand that ends at the next join that does not bind tighter, and so on from there; one that
//! does not decide it is followed by the next predicate. A negation has been moved inward before:
//! it exchanges `&&` and `||` of what it stands before, but not how they bind, and the results of
//! its predicates.

use super::program::{Step, ACCEPT, REJECT};

/// What stands behind a predicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Join {
    /// How tightly it binds: by the parentheses around it first, then `&&` before `||`.
    pub level: u16,
    /// Which result decides it, with the negations around it taken in.
    pub decided_by: bool,
    /// The next join that does not bind tighter; [`ACCEPT`] for none.
    after: u16,
}

impl Join {
    /// The end of the filter.
    pub const END: Self = Self {
        level: 0,
        decided_by: false,
        after: ACCEPT,
    };

    /// A join within `depth` parentheses.
    pub const fn new(depth: u16, and: bool, inverted: bool) -> Self {
        Self {
            level: depth.saturating_mul(2).saturating_add(and as u16),
            decided_by: and == inverted,
            after: ACCEPT,
        }
    }
}

/// Puts the jumps of all steps in, each step's own negation included.
pub(super) fn link(steps: &mut [Step]) {
    let count = steps.len();
    for index in (0..count).rev() {
        let next = index.wrapping_add(1);
        let Some((step, later)) = steps.get_mut(index..).and_then(<[Step]>::split_first_mut) else {
            return;
        };
        if later.is_empty() {
            (step.on_true, step.on_false) = (ACCEPT, REJECT);
            continue;
        }

        let at = |index: u16| later.get(usize::from(index).wrapping_sub(next));
        let mut after = u16::try_from(next).unwrap_or(ACCEPT);
        // The last step's join is the end, which binds least and is none.
        while let Some(join) = at(after).map(|step| step.join) {
            if at(after.wrapping_add(1)).is_none() {
                after = ACCEPT;
            } else if join.level > step.join.level {
                after = join.after;
            } else {
                break;
            }
        }

        step.join.after = after;
        let decided = |result: bool| match at(after) {
            Some(step) if result => step.on_true,
            Some(step) => step.on_false,
            None if result => ACCEPT,
            None => REJECT,
        };
        let further = u16::try_from(next).unwrap_or(REJECT);
        (step.on_true, step.on_false) = if step.join.decided_by {
            (decided(true), further)
        } else {
            (further, decided(false))
        };
    }

    for step in steps.iter_mut().filter(|step| step.negated) {
        core::mem::swap(&mut step.on_true, &mut step.on_false);
    }
}
