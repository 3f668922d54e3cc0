// SPDX-License-Identifier: GPL-2.0

//! Links the steps of a filter: where evaluation continues after each predicate.
//!
//! The predicates are in the order of the text. Each has the [`Join`](super::program::Join) after it, with the level of
//! that join. A result can decide a join (true for `||`, false for `&&`). It is then the result of
//! the whole operand up to the next join that does not bind tighter, and the rule is applied again
//! there. If the result does not decide the join, the next predicate follows. Negations were moved
//! inward before: a negation swaps `&&` and `||` of its operand and the results of its predicates,
//! but not the levels.

use super::program::{Step, ACCEPT, REJECT};

/// Fills in the jumps of all steps. The negation of each step is included.
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
        // The join of the last step is the end. It binds least and has no operator.
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
