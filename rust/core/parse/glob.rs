// SPDX-License-Identifier: GPL-2.0

//! Patterns of the filter files: names, the simple globs `ab*`, `*ab`, `*ab*`, and glob(7).
//!
//! [`Pattern::parse`] chooses the cheapest [`Kind`] for a pattern. Answers to
//! `filter_parse_regex()` and `glob_match()`.

use super::number;

/// How a name is compared with the text of a [`Pattern`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The name is equal to the text.
    Full,
    /// `text*`: the name begins with the text.
    Front,
    /// `*text*`: the name contains the text.
    Middle,
    /// `*text`: the name ends with the text. An empty text (the pattern `*`) matches all names.
    End,
    /// glob(7).
    Glob,
    /// A pattern that starts with a digit: a line number of available_filter_functions, from 1 on.
    /// It matches no name.
    Index,
}

/// A pattern. It borrows its token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern<'a> {
    /// How to compare.
    pub kind: Kind,
    /// Whether the pattern begins with `!`. [`matches`](Self::matches) ignores it.
    pub negated: bool,
    /// The text to compare with, without the `!` and without the `*` of `kind`.
    pub text: &'a [u8],
}

impl<'a> Pattern<'a> {
    /// Parses `pattern`. Every text is a valid pattern.
    #[inline(never)]
    pub fn parse(pattern: &'a [u8]) -> Self {
        let (negated, body) = match pattern.strip_prefix(b"!") {
            Some(body) => (true, body),
            None => (false, pattern),
        };
        let (kind, text) = classify(body);
        Self {
            kind,
            negated,
            text,
        }
    }

    /// Whether `name` matches. The negation is ignored.
    pub fn matches(&self, name: &[u8]) -> bool {
        match self.kind {
            Kind::Full => name == self.text,
            Kind::Front => name.starts_with(self.text),
            Kind::Middle => {
                self.text.is_empty() || name.windows(self.text.len()).any(|part| part == self.text)
            }
            Kind::End => name.ends_with(self.text),
            Kind::Glob => glob(self.text, name),
            Kind::Index => false,
        }
    }

    /// Whether it is for paths of Rust functions: it has `::`, which no symbol has.
    pub fn is_for_paths(&self) -> bool {
        is_path(self.text)
    }

    /// The pattern that matches its text alone. `None` if it is not for paths or matches no more
    /// than that. A path can have the characters of a glob: `<[u8]~as~A>::f`.
    #[must_use]
    pub fn literal(&self) -> Option<Self> {
        let differs = self.kind == Kind::Glob && self.is_for_paths();
        differs.then_some(Self {
            kind: Kind::Full,
            ..*self
        })
    }

    /// The line of an [`Kind::Index`] pattern, counted from 0. `None` for 0 and for a text that is
    /// not a number (`7x`).
    pub fn index(&self) -> Option<usize> {
        match self.kind {
            Kind::Index => {
                let line = number::unsigned(self.text, 0).ok()?.checked_sub(1)?;
                // C uses a long, so a number in the upper half is negative and matches no line.
                i64::try_from(line)
                    .ok()
                    .and_then(|line| usize::try_from(line).ok())
            }
            _ => None,
        }
    }

    /// Whether there is no text besides a `!`. With a module this means all its functions.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }
}

/// Whether `name` is the path of a Rust function, or a part of one with `::`.
pub fn is_path(name: &[u8]) -> bool {
    name.windows(2).any(|pair| pair == b"::")
}

fn classify(body: &[u8]) -> (Kind, &[u8]) {
    if body.first().is_some_and(u8::is_ascii_digit) {
        return (Kind::Index, body);
    }
    let (open, inner) = match body.strip_prefix(b"*") {
        Some(inner) => (true, inner),
        None => (false, body),
    };
    let (inner, close) = match inner.strip_suffix(b"*") {
        Some(inner) => (inner, true),
        None => (inner, false),
    };
    if inner.iter().any(|c| b"*?[\\".contains(c)) {
        return (Kind::Glob, body);
    }
    match (open, close) {
        (false, false) => (Kind::Full, inner),
        (false, true) => (Kind::Front, inner),
        (true, false) => (Kind::End, inner),
        (true, true) => (Kind::Middle, inner),
    }
}

/// Whether all of `name` matches the glob(7) `pattern`.
///
/// `*` and `?` match any byte, also `/` and a leading dot. `[…]` is a class and `[!…]` its
/// complement. A `[` that is never closed stands for itself. The byte after `\` stands for itself.
/// The time is at most the product of the lengths. There is no recursion.
pub fn glob(pattern: &[u8], name: &[u8]) -> bool {
    let (mut pat, mut rest) = (pattern, name);
    // The pattern after the last star, and the part of the name where it was last tried.
    let mut retry: Option<(&[u8], &[u8])> = None;
    loop {
        if let [b'*', after @ ..] = pat {
            if after.is_empty() {
                return true;
            }
            retry = Some((after, rest));
            pat = after;
            continue;
        }
        match (step(pat, rest.first().copied()), rest.split_first()) {
            (Step::Match(after), Some((_, tail))) => (pat, rest) = (after, tail),
            (Step::End, None) => return true,
            _ => {
                // Only the last star needs to be retried: the earlier stars matched as little as
                // possible.
                let Some((after, tried)) = retry else {
                    return false;
                };
                let Some((_, tail)) = tried.split_first() else {
                    return false;
                };
                if rest.is_empty() {
                    return false;
                }
                retry = Some((after, tail));
                (pat, rest) = (after, tail);
            }
        }
    }
}

/// The result of comparing one element of a pattern, other than a star, with one byte of a name.
enum Step<'a> {
    /// It matches. The rest of the pattern follows.
    Match(&'a [u8]),
    /// It does not match.
    Mismatch,
    /// The pattern has ended.
    End,
}

fn step(pat: &[u8], byte: Option<u8>) -> Step<'_> {
    let (element, matched) = match pat {
        [] | [b'\\'] => return Step::End,
        [b'?', ..] => (1, true),
        [b'[', ..] => match class(pat, byte) {
            Some(class) => class,
            None => (1, byte == Some(b'[')),
        },
        [b'\\', literal, ..] => (2, byte == Some(*literal)),
        [literal, ..] => (1, byte == Some(*literal)),
    };
    if byte.is_some() && matched {
        Step::Match(pat.get(element..).unwrap_or(&[]))
    } else {
        Step::Mismatch
    }
}

/// The length of the class at the start of `pat`, and whether `byte` is in it. `None` if the class
/// is never closed.
///
/// A `]` at the start of the class, and a `-` next to a bracket, are normal members.
fn class(pat: &[u8], byte: Option<u8>) -> Option<(usize, bool)> {
    let at = |i: usize| pat.get(i).copied();
    let inverted = at(1) == Some(b'!');
    let first = if inverted { 2 } else { 1 };
    let (mut i, mut found) = (first, false);
    loop {
        let low = at(i)?;
        i = i.wrapping_add(1);
        if low == b']' && i != first.wrapping_add(1) {
            return Some((i, found != inverted));
        }
        let mut high = low;
        if at(i) == Some(b'-') && at(i.wrapping_add(1)) != Some(b']') {
            high = at(i.wrapping_add(1))?;
            i = i.wrapping_add(2);
        }
        found |= byte.is_some_and(|c| (low..=high).contains(&c));
    }
}

#[cfg(all(test, not(CONFIG_RTRACE)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn kind(text: &str) -> (Kind, bool, &[u8]) {
        let p = Pattern::parse(text.as_bytes());
        (p.kind, p.negated, p.text)
    }

    #[test]
    fn sorting() {
        assert_eq!(kind("vfs_read"), (Kind::Full, false, &b"vfs_read"[..]));
        assert_eq!(kind("!ab*"), (Kind::Front, true, &b"ab"[..]));
        assert_eq!(kind("*ab"), (Kind::End, false, &b"ab"[..]));
        assert_eq!(kind("*ab*"), (Kind::Middle, false, &b"ab"[..]));
        assert_eq!(kind("*"), (Kind::End, false, &b""[..]));
        assert_eq!(kind("**"), (Kind::Middle, false, &b""[..]));
        assert_eq!(kind("a*b"), (Kind::Glob, false, &b"a*b"[..]));
        assert_eq!(kind("*a*b"), (Kind::Glob, false, &b"*a*b"[..]));
        assert_eq!(kind("a?"), (Kind::Glob, false, &b"a?"[..]));
        assert_eq!(kind("*a[b]*"), (Kind::Glob, false, &b"*a[b]*"[..]));
        assert_eq!(kind("a\\*"), (Kind::Glob, false, &b"a\\*"[..]));
        assert_eq!(kind("!7"), (Kind::Index, true, &b"7"[..]));
        assert_eq!(kind("!"), (Kind::Full, true, &b""[..]));
    }

    #[test]
    fn cheap_kinds() {
        let is = |p: &str, s: &str| Pattern::parse(p.as_bytes()).matches(s.as_bytes());
        assert!(is("ab", "ab") && !is("ab", "abc") && !is("ab", "a"));
        assert!(is("ab*", "ab") && is("ab*", "abc") && !is("ab*", "a"));
        assert!(is("*ab", "ab") && is("*ab", "cab") && !is("*ab", "b") && !is("*ab", "abc"));
        assert!(is("*ab*", "xaby") && is("*ab*", "ab") && !is("*ab*", "a"));
        assert!(is("*", "") && is("*", "x") && is("**", "x"));
        assert!(!is("7", "7") && !is("", "x"));
    }

    #[test]
    fn paths() {
        let pattern = |text: &'static str| Pattern::parse(text.as_bytes());
        assert!(pattern("kernel::*").is_for_paths() && !pattern("kernel*").is_for_paths());
        let one = pattern("!<[u8]~as~A>::f");
        assert!(!one.matches(b"<[u8]~as~A>::f"), "the glob has a class");
        let one = one.literal().unwrap();
        assert!(one.negated && one.matches(b"<[u8]~as~A>::f") && !one.matches(b"<u~as~A>::f"));
        assert_eq!(pattern("kernel::*").literal(), None);
        assert_eq!(pattern("a*b").literal(), None);
    }

    #[test]
    fn indexes() {
        let index = |p: &str| Pattern::parse(p.as_bytes()).index();
        assert_eq!(index("1"), Some(0));
        assert_eq!(index("!0x10"), Some(15));
        assert_eq!(index("0"), None);
        assert_eq!(index("1a"), None);
        assert_eq!(index("18446744073709551615"), None);
        assert_eq!(index("a"), None);
    }

    /// The cases that glob(7) describes.
    #[test]
    #[rustfmt::skip]
    fn globs() {
        for (pattern, name, want) in [
            ("a", "a", true), ("a", "b", false), ("a", "aa", false), ("a", "", false),
            ("", "", true), ("", "a", false),
            ("?", "a", true), ("?", "aa", false), ("??", "a", false), ("a?c", "abc", true), ("?", "", false),
            ("[a]", "a", true), ("[a]", "b", false), ("[!a]", "a", false), ("[!a]", "b", true),
            ("[ab]", "b", true), ("[!ab]", "c", true), ("[a-c]", "b", true), ("[a-c]", "d", false),
            ("[a-c_e]", "_", true), ("[!a-c]", "d", true), ("[]]", "]", true), ("[]a]", "a", true),
            ("[!]]", "]", false), ("[!]]", "a", true), ("[a-]", "-", true), ("[-a]", "-", true),
            ("[a-]", "b", false), ("[b-a]", "a", false), ("[", "[", true), ("[a", "[a", true), ("[a", "a", false),
            ("[a-", "[a-", true), ("[!", "[!", true), ("[]", "[]", true), ("[]", "]", false),
            ("*", "", true), ("*a", "ba", true), ("a*c", "abbc", true), ("a*c", "abbcd", false),
            ("*a*b", "xaab", true), ("*ab*cd", "abxabcxcd", true), ("*bc", "abc", true),
            ("a*a*a", "aaaa", true), ("a*a*a*b", "aaaaaaaaaa", false), ("*aaaaa", "aaaaaaaaaa", true),
            ("\\*", "*", true), ("\\*", "a", false), ("\\[a]", "[a]", true), ("a\\", "a", true), ("a\\", "ab", false),
            ("[\\]", "\\", true), ("*[!a]", "aab", true), ("*/x", "a/b/x", true), ("*[0-9]", "a1", true),
        ] {
            assert_eq!(glob(pattern.as_bytes(), name.as_bytes()), want, "{pattern:?} {name:?}");
        }
    }

    /// Decides by trying all possibilities, for patterns of stars, question marks and letters.
    fn slow(pat: &[u8], name: &[u8]) -> bool {
        match pat {
            [] => name.is_empty(),
            [b'*', after @ ..] => (0..=name.len()).any(|n| slow(after, &name[n..])),
            [c, after @ ..] => name
                .split_first()
                .is_some_and(|(b, t)| (*c == b'?' || c == b) && slow(after, t)),
        }
    }

    proptest! {
        #[test]
        fn agrees_with_trying_all(pat in "[ab*?]{0,8}", name in "[ab]{0,8}") {
            prop_assert_eq!(glob(pat.as_bytes(), name.as_bytes()), slow(pat.as_bytes(), name.as_bytes()));
            // The simple kinds have the same meaning as the glob.
            let sorted = Pattern::parse(pat.as_bytes());
            prop_assert_eq!(sorted.matches(name.as_bytes()), slow(pat.as_bytes(), name.as_bytes()));
        }

        #[test]
        fn never_panics(pat in "[]a!\\-\\[*?\\\\]{0,12}", name in "[]a\\-\\[]{0,8}") {
            let _ = glob(pat.as_bytes(), name.as_bytes());
        }
    }
}
