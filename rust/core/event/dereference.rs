// SPDX-License-Identifier: GPL-2.0

//! Checks the pointers that a `print fmt` dereferences. The memory that a pointer in an entry
//! points to may have been freed when the entry is printed.
//!
//! An argument of a dereferencing conversion must point into the entry itself, or come from a
//! function or a table. A pointer field may also point to a string that is never freed; this can
//! only be checked for each entry.

/// Returns whether the field with this name is an array in the entry. `None` if there is no such
/// field.
pub type IsArray<'a> = dyn Fn(&[u8]) -> Option<bool> + 'a;

/// A fault of a `print fmt`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrong<'a> {
    /// The argument with this number, counted from 1, points outside the entry.
    Unsafe(usize),
    /// This argument is what a `%p?` is to follow, and points outside the entry.
    Argument(&'a [u8]),
    /// This argument itself dereferences a pointer of the entry.
    Double(&'a [u8]),
}

/// What a conversion does with its argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Conversion {
    /// Prints it.
    Value,
    /// Prints the string that it points to.
    Text,
    /// Prints other data that it points to.
    Pointer,
}

/// Checks `print_fmt`. Calls `wrong` for each fault, and `string` with the name of each field that
/// is a pointer to a string.
pub fn examine<'a>(
    print_fmt: &'a [u8],
    is_array: &IsArray<'_>,
    mut string: impl FnMut(&'a [u8]),
    mut wrong: impl FnMut(Wrong<'a>),
) {
    let Some((format, rest)) = literal(print_fmt) else {
        return;
    };
    let mut conversions = Conversions {
        rest: format,
        inside: false,
    };
    let mut bad = None;
    for (number, argument) in (1usize..).zip(Arguments(rest)) {
        if follows_twice(argument) {
            wrong(Wrong::Double(argument));
        }
        let fine = match conversions.next() {
            None | Some(Conversion::Value) => true,
            Some(Conversion::Pointer) => {
                let fine = is_of_entry(argument, is_array);
                if !fine {
                    wrong(Wrong::Argument(argument));
                }
                fine
            }
            Some(Conversion::Text) if is_given(argument) || is_of_entry(argument, is_array) => true,
            Some(Conversion::Text) => match field(argument).filter(|name| is_array(name).is_some())
            {
                Some(name) => {
                    string(name);
                    true
                }
                None => false,
            },
        };
        if !fine && bad.is_none() {
            bad = Some(number);
        }
    }
    if let Some(number) = bad {
        wrong(Wrong::Unsafe(number));
    }
}

/// The first string literal without its quotes, and the text after it.
fn literal(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let start = text.iter().position(|&c| c == b'"')?.checked_add(1)?;
    let text = text.get(start..)?;
    let mut at = 0usize;
    loop {
        match text.get(at)? {
            b'\\' => at = at.checked_add(2)?,
            b'"' => return Some((text.get(..at)?, text.get(at.checked_add(1)?..)?)),
            _ => at = at.checked_add(1)?,
        }
    }
}

/// The conversions of a format, one for each argument.
struct Conversions<'a> {
    rest: &'a [u8],
    /// Whether the last argument was a width or a precision. The conversion then continues.
    inside: bool,
}

impl Conversions<'_> {
    fn skip(&mut self, count: usize) {
        self.rest = self.rest.get(count..).unwrap_or(&[]);
    }

    /// Parses the text after a `%`, up to a `*`. As in C, a conversion with flags prints a value.
    fn conversion(&mut self) -> Conversion {
        let is_size = |c: &&u8| c.is_ascii_digit() || **c == b'.';
        let sizes = self.rest.iter().take_while(is_size).count();
        self.skip(sizes);
        self.inside = self.rest.first() == Some(&b'*');
        match *self.rest {
            [b'*', ..] => {
                self.skip(1);
                Conversion::Value
            }
            [b'p', kind, ..] if b"BRrbMmIiEUVNadDgtCOf".contains(&kind) => Conversion::Pointer,
            [b's', ..] => Conversion::Text,
            _ => Conversion::Value,
        }
    }
}

impl Iterator for Conversions<'_> {
    type Item = Conversion;

    fn next(&mut self) -> Option<Conversion> {
        if self.inside {
            return Some(self.conversion());
        }
        loop {
            match *self.rest {
                [] => return None,
                [b'\\', ..] | [b'%', b'%', ..] => self.skip(2),
                [b'%', ..] => {
                    self.skip(1);
                    return Some(self.conversion());
                }
                _ => self.skip(1),
            }
        }
    }
}

/// The arguments: separated by commas that are not in quotes or parentheses.
struct Arguments<'a>(&'a [u8]);

impl<'a> Iterator for Arguments<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        // Each argument comes after a comma.
        let start = self.0.iter().position(|&c| c == b',')?.checked_add(1)?;
        let text = self.0.get(start..)?.trim_ascii_start();
        let end = argument_end(text);
        self.0 = text.get(end..).unwrap_or(&[]);
        text.get(..end).filter(|argument| !argument.is_empty())
    }
}

fn argument_end(text: &[u8]) -> usize {
    let (mut quote, mut depth, mut escaped) = (None, 0usize, false);
    for (at, &c) in text.iter().enumerate() {
        if core::mem::take(&mut escaped) {
            continue;
        }
        match (quote, c) {
            (_, b'\\') => escaped = true,
            (Some(end), _) if c == end => quote = None,
            (Some(_), _) => {}
            (None, b'"' | b'\'') => quote = Some(c),
            (None, b'(') => depth = depth.saturating_add(1),
            (None, b')') => depth = depth.saturating_sub(1),
            (None, b',') if depth == 0 => return at,
            (None, _) => {}
        }
    }
    text.len()
}

/// The prefix of a field of the entry.
const REC: &[u8] = b"REC->";

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|at| at == part)
}

/// The name of the field at the start of `text`.
fn field(text: &[u8]) -> Option<&[u8]> {
    let name = text.strip_prefix(REC)?;
    let is_name = |c: &u8| c.is_ascii_alphanumeric() || *c == b'_';
    name.get(..name.iter().take_while(|c| is_name(c)).count())
}

/// Whether the argument points into the entry itself.
fn is_of_entry(argument: &[u8], is_array: &IsArray<'_>) -> bool {
    let Some(at) = find(argument, REC) else {
        const MACROS: [&[u8]; 6] = [
            b"__get_dynamic_array(",
            b"__get_rel_dynamic_array(",
            b"__get_dynamic_array_len(",
            b"__get_rel_dynamic_array_len(",
            b"__get_sockaddr(",
            b"__get_rel_sockaddr(",
        ];
        return MACROS.iter().any(|name| find(argument, name).is_some());
    };
    let before = argument.get(..at).unwrap_or(&[]);
    let named = argument.get(at..).and_then(field);
    before.contains(&b'&') || named.and_then(is_array) == Some(true)
}

/// Whether the string comes from a function, a table or a literal.
fn is_given(argument: &[u8]) -> bool {
    let is_word = |c: &u8| c.is_ascii_alphanumeric() || *c == b'_';
    let called = argument.iter().enumerate().any(|(at, &c)| {
        let before = argument.get(..at).unwrap_or(&[]).trim_ascii_end();
        c == b'(' && before.last().is_some_and(is_word)
    });
    let indexed = argument
        .iter()
        .position(|&c| c == b'[')
        .and_then(|at| argument.get(at..))
        .is_some_and(|rest| find(rest, REC).is_some());
    called || indexed || argument.contains(&b'"')
}

/// Whether the argument dereferences a pointer field of the entry.
fn follows_twice(mut argument: &[u8]) -> bool {
    while let Some(at) = find(argument, REC) {
        let rest = argument.get(at..).unwrap_or(&[]);
        let length = field(rest).map_or(0, <[u8]>::len);
        argument = rest.get(REC.len().saturating_add(length)..).unwrap_or(&[]);
        if argument.starts_with(b"->") {
            return true;
        }
    }
    false
}

#[cfg(all(test, not(CONFIG_RTRACE)))]
mod tests {
    use super::*;
    use std::string::{String, ToString};
    use std::vec::Vec;

    fn seen(print_fmt: &str) -> (Vec<String>, Vec<String>) {
        let (mut strings, mut wrong) = (Vec::new(), Vec::new());
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let is_array = |name: &[u8]| match name {
            b"array" => Some(true),
            b"text" | b"other" | b"number" => Some(false),
            _ => None,
        };
        examine(
            print_fmt.as_bytes(),
            &is_array,
            |name| strings.push(text(name)),
            |fault| {
                wrong.push(match fault {
                    Wrong::Unsafe(number) => number.to_string(),
                    Wrong::Argument(argument) => std::format!("'{}'", text(argument)),
                    Wrong::Double(argument) => text(argument),
                });
            },
        );
        (strings, wrong)
    }

    fn check(print_fmt: &str, strings: &[&str], wrong: &[&str]) {
        let (got_strings, got_wrong) = seen(print_fmt);
        assert_eq!(got_strings, strings, "{print_fmt}");
        assert_eq!(got_wrong, wrong, "{print_fmt}");
    }

    #[test]
    fn what_is_in_the_entry_is_fine() {
        check(
            r#""%d %s %p", REC->number, REC->array, REC->text"#,
            &[],
            &[],
        );
        check(r#""%s", __get_str(name)"#, &[], &[]);
        check(
            r#""%pI4 %*pbl", &REC->number, REC->number, __get_dynamic_array(mask)"#,
            &[],
            &[],
        );
        check(r#""%pM", REC->array"#, &[], &[]);
        check(r#""no arguments""#, &[], &[]);
        check("", &[], &[]);
        check("\"no end, REC->text", &[], &[]);
    }

    #[test]
    fn strings_elsewhere_are_told() {
        check(r#""%s", REC->text"#, &["text"], &[]);
        check(
            r#""%d%%, %s \"%s\"", REC->number, REC->text, REC->other"#,
            &["text", "other"],
            &[],
        );
        check(r#""%.*s", REC->number, REC->text"#, &["text"], &[]);
        check(
            r#""%*s %s", REC->number, REC->text, REC->other"#,
            &["text", "other"],
            &[],
        );
    }

    #[test]
    fn what_gives_a_string_is_fine() {
        check(r#""%s", REC->number ? "on" : "off""#, &[], &[]);
        check(r#""%s", names[REC->number]"#, &[], &[]);
        check(
            r#""%s %d", __print_symbolic(REC->number, { 1, "one, two" }), REC->number"#,
            &[],
            &[],
        );
        check(
            r#""%s", (__print_flags (REC->number, "|", { 1, "a" }))"#,
            &[],
            &[],
        );
    }

    #[test]
    fn what_leads_out_of_the_entry_is_not() {
        check(
            r#""%d %pI4", REC->number, REC->text"#,
            &[],
            &["'REC->text'", "2"],
        );
        check(r#""%s", current"#, &[], &["1"]);
        check(r#""%s", REC->missing"#, &[], &["1"]);
        check(
            r#""%pd", (char *)REC->text"#,
            &[],
            &["'(char *)REC->text'", "1"],
        );
        check(
            r#""%pM %s %pM", REC->text, REC->array, f(a, b)"#,
            &[],
            &["'REC->text'", "'f(a, b)'", "1"],
        );
        check(r#""%d", REC->text->name"#, &[], &["REC->text->name"]);
        check(
            r#""%d %pI4", f(REC->number, REC->text->a), REC->text"#,
            &[],
            &["f(REC->number, REC->text->a)", "'REC->text'", "2"],
        );
    }
}
