// SPDX-License-Identifier: GPL-2.0

//! Where expressions are split.

use crate::core::event::hist::description::Operator;

/// The operator at which an expression is split.
pub(super) enum Split {
    Negative,
    At(Operator, usize),
}

pub(super) fn root_of(text: &[u8]) -> Option<Split> {
    let last = |sign: u8| text.iter().rposition(|c| *c == sign);
    let (minus, plus) = (last(b'-'), last(b'+'));
    match (minus, plus) {
        (Some(0), _) => return Some(Split::Negative),
        (minus, Some(plus)) if minus.is_none_or(|minus| plus > minus) => {
            return Some(Split::At(Operator::Plus, plus))
        }
        (Some(minus), _) => return Some(Split::At(Operator::Minus, minus)),
        _ => {}
    }
    match (last(b'/'), last(b'*')) {
        (divide, Some(times)) if divide.is_none_or(|divide| times > divide) => {
            Some(Split::At(Operator::Times, times))
        }
        (Some(divide), _) => Some(Split::At(Operator::Divide, divide)),
        _ => None,
    }
}

/// `text` up to where C has cut it when it has parsed it: that is what its log looks for afterwards.
///
/// C ends a part by a NUL in place of what follows it: the part on the left of an operator, what is
/// in the braces of a minus, and each name in `SYSTEM.EVENT.NAME`. Then it parses that part, and so
/// the last cut on the left is the first in the text. Of `sched.waking.$ts+8-4`,
///
/// 1. `sched.waking.$ts+8` is on the left of the minus,
/// 2. `sched.waking.$ts` is on the left of the plus,
/// 3. `sched` is its first name, and is what is left.
pub(super) fn until_cut(text: &[u8]) -> &[u8] {
    const MINUS: &[u8] = b"-(";
    // The part that is looked at.
    let (mut start, mut end) = (0_usize, text.len());
    while let Some(part) = text.get(start..end) {
        let (inside, cut) = match root_of(part) {
            Some(Split::At(_, at)) => (0, Some(at)),
            Some(Split::Negative) => {
                let brace = part.iter().rposition(|c| *c == b')');
                (MINUS.len(), brace.filter(|at| *at >= MINUS.len()))
            }
            None => (0, dot_of(part)),
        };
        let Some(cut) = cut else {
            break;
        };
        (start, end) = (start.wrapping_add(inside), start.wrapping_add(cut));
    }
    text.get(..end).unwrap_or(text)
}

/// Where C cuts a part without an operator: at the first of two dots or more.
fn dot_of(part: &[u8]) -> Option<usize> {
    let mut dots = part.iter().enumerate().filter(|(_, c)| **c == b'.');
    let first = dots.next();
    dots.next().and(first).map(|(at, _)| at)
}

/// [`until_cut`] of a text that C does not look for operators in. It cuts nothing that begins as a
/// number.
pub(super) fn until_dot(text: &[u8]) -> &[u8] {
    let is_number = text.first().is_some_and(u8::is_ascii_digit);
    let end = dot_of(text).filter(|_| !is_number);
    text.get(..end.unwrap_or(text.len())).unwrap_or(text)
}

#[cfg(all(test, not(CONFIG_RTRACE)))]
mod tests {
    use super::{until_cut, until_dot};

    #[test]
    fn dots() {
        for (text, left) in [
            ("a.b.c+d", "a"),
            ("a.b", "a.b"),
            ("1.b.c", "1.b.c"),
            ("a+b.c", "a+b.c"),
            ("", ""),
        ] {
            assert_eq!(until_dot(text.as_bytes()), left.as_bytes(), "{text}");
        }
    }

    #[test]
    fn cuts() {
        for (text, left) in [
            ("sched.waking.$ts+8-4", "sched"),
            ("sched.waking.$ts", "sched"),
            ("waking.$ts", "waking.$ts"),
            ("$ts/2*3", "$ts"),
            ("-($ts+8)", "-($ts"),
            ("-(a.b.$ts)", "-(a"),
            ("-(-($ts))", "-("),
            ("-()", "-("),
            ("-)", "-)"),
            ("-(", "-("),
            ("", ""),
        ] {
            assert_eq!(until_cut(text.as_bytes()), left.as_bytes(), "{text}");
        }
    }
}
