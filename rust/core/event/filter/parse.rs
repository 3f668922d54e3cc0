// SPDX-License-Identifier: GPL-2.0

//! Parses a filter into steps.
//!
//! The first pass finds unbalanced quotes and parentheses, as C does first. The second pass reads
//! operands and joins from left to right. It keeps one bit for each open parenthesis.

use super::error::{Errno, Reason, Refused};
use super::link;
use super::program::{CpuTest, Join, Load, MaskTest, Place, Step, Test, Text, ACCEPT, REJECT};
use super::{Scope, Storage};
use crate::core::event::field::{self, Field, Kind};
use crate::core::parse::glob::{self, Pattern};
use crate::core::parse::parser::{is_alnum, is_space, until_nul};
use crate::core::parse::{cpulist, number};
use core::ops::Range;

/// A text or a name has fewer bytes than this.
const TEXT_MAX: usize = 256;

/// The text of a number has fewer bytes than this.
const NUMBER_MAX: usize = 24;

/// The most parentheses that may be open. A filter file takes no longer text.
const DEPTH_MAX: u16 = 4096;

type Result<T = ()> = core::result::Result<T, Refused>;

/// Compiles `text` into the empty `storage`.
///
/// The filter is a [`Program`](super::program::Program) of `text` and of the steps and masks in the
/// storage.
///
/// # Errors
///
/// The error in the text. The content of the storage is unspecified then.
pub fn compile(text: &[u8], scope: &impl Scope, storage: &mut impl Storage) -> Result {
    let text = until_nul(text);
    check_balance(text)?;
    let mut parser = Parser {
        text,
        at: 0,
        scope,
        storage,
    };
    parser.expression()?;
    link::link(parser.storage.steps());
    Ok(())
}

/// Finds unmatched quotes and parentheses, and filters that consist only of parentheses.
fn check_balance(text: &[u8]) -> Result {
    let mut quote: Option<(u8, usize)> = None;
    let mut open = 0usize;
    let mut empty = true;
    for (at, &c) in text.iter().enumerate() {
        if let Some((end, _)) = quote {
            if c == end {
                quote = None;
            }
            continue;
        }
        match c {
            b'\'' | b'"' => {
                quote = Some((c, at));
                empty = false;
            }
            b'(' => open = open.saturating_add(1),
            b')' => {
                open = open.checked_sub(1).ok_or(Refused::with(
                    Reason::TooManyClose,
                    at,
                    Errno::Permission,
                ))?;
            }
            _ => empty &= is_space(c),
        }
    }

    if let Some((_, at)) = quote {
        return Err(Refused::with(Reason::MissingQuote, at, Errno::NoProcess));
    }
    if open != 0 {
        let at = last_open(text);
        return Err(Refused::with(Reason::TooManyOpen, at, Errno::NotFound));
    }
    if empty {
        return Err(Refused::unsaid(Errno::Invalid));
    }
    Ok(())
}

/// The position of the last unclosed parenthesis.
fn last_open(text: &[u8]) -> usize {
    let mut quote = None;
    let mut closed = 0usize;
    for (at, &c) in text.iter().enumerate().rev() {
        match (quote, c) {
            (Some(end), _) if c == end => quote = None,
            (Some(_), _) => {}
            (None, b'\'' | b'"') => quote = Some(c),
            (None, b')') => closed = closed.saturating_add(1),
            (None, b'(') if closed == 0 => return at,
            (None, b'(') => closed = closed.saturating_sub(1),
            (None, _) => {}
        }
    }
    0
}

/// For each open parenthesis, whether an odd number of `!` applies to its content.
struct Inversions {
    bits: [u64; DEPTH_MAX as usize / 64],
    depth: u16,
}

impl Inversions {
    const fn new() -> Self {
        Self {
            bits: [0; DEPTH_MAX as usize / 64],
            depth: 0,
        }
    }

    /// Opens a parenthesis. Returns false if too many are open.
    fn open(&mut self, inverted: bool) -> bool {
        let (word, bit) = (usize::from(self.depth / 64), self.depth % 64);
        let Some(word) = self.bits.get_mut(word) else {
            return false;
        };
        *word = *word & !(1 << bit) | u64::from(inverted) << bit;
        self.depth = self.depth.saturating_add(1);
        true
    }

    /// Closes a parenthesis. Returns false if none is open.
    fn close(&mut self) -> bool {
        match self.depth.checked_sub(1) {
            Some(depth) => {
                self.depth = depth;
                true
            }
            None => false,
        }
    }

    /// Whether the content of the innermost parenthesis is inverted.
    fn now(&self) -> bool {
        self.depth.checked_sub(1).is_some_and(|last| {
            let word = self.bits.get(usize::from(last / 64)).copied();
            word.unwrap_or(0) >> (last % 64) & 1 == 1
        })
    }
}

/// The operator of a predicate.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operator {
    Glob,
    NotEqual,
    Equal,
    LessOrEqual,
    Less,
    GreaterOrEqual,
    Greater,
    And,
}

/// An operator stands before the operators that are its prefix.
const OPERATORS: &[(&[u8], Operator)] = &[
    (b"~", Operator::Glob),
    (b"!=", Operator::NotEqual),
    (b"==", Operator::Equal),
    (b"<=", Operator::LessOrEqual),
    (b"<", Operator::Less),
    (b">=", Operator::GreaterOrEqual),
    (b">", Operator::Greater),
    (b"&", Operator::And),
];

/// A test, and whether its result is negated.
type Predicate = (Test, bool);

struct Parser<'a, 's, C, S> {
    text: &'a [u8],
    at: usize,
    scope: &'s C,
    storage: &'s mut S,
}

impl<'a, C: Scope, S: Storage> Parser<'a, '_, C, S> {
    fn expression(&mut self) -> Result {
        let mut inversions = Inversions::new();
        let mut count = 0usize;
        loop {
            let negated = self.operand_start(&mut inversions, count == 0)?;
            let (test, not) = self.predicate()?;
            count = count.wrapping_add(1);
            let join = self.join(&mut inversions)?;
            let step = Step {
                test,
                on_true: ACCEPT,
                on_false: REJECT,
                join: join.unwrap_or(Join::END),
                negated: not != negated,
            };
            // The last two numbers are [`ACCEPT`] and [`REJECT`].
            if count > usize::from(REJECT) {
                return Err(self.refuse(Reason::TooManyPredicates));
            }
            self.storage.push(step)?;
            if join.is_none() {
                return Ok(());
            }
        }
    }

    /// Reads `!` and `(` before a predicate. Returns whether the predicate is negated.
    fn operand_start(&mut self, inversions: &mut Inversions, first: bool) -> Result<bool> {
        let mut inverted = inversions.now();
        loop {
            self.skip_spaces();
            match self.rest() {
                [] => {
                    let reason = if first {
                        Reason::NoFilter
                    } else {
                        Reason::Meaningless
                    };
                    return Err(Refused::new(reason, self.at));
                }
                [b'(', ..] if inversions.open(inverted) => {}
                [b'(', ..] => return Err(Refused::unsaid(Errno::Invalid)),
                // An operator without a field before it.
                [b'!', b'=' | b'~', ..] => return Ok(inverted),
                [b'!', ..] => inverted = !inverted,
                _ => return Ok(inverted),
            }
            self.advance(1);
        }
    }

    /// Reads `)` and then `&&` or `||`. Returns `None` at the end of the filter.
    fn join(&mut self, inversions: &mut Inversions) -> Result<Option<Join>> {
        loop {
            self.skip_spaces();
            let and = match self.rest() {
                [] if inversions.depth == 0 => return Ok(None),
                [] => {
                    let at = self.at.saturating_add(1);
                    return Err(Refused::with(Reason::TooManyOpen, at, Errno::Permission));
                }
                [b')', ..] => {
                    self.advance(1);
                    if !inversions.close() {
                        let reason = Reason::TooManyClose;
                        return Err(Refused::with(reason, self.at, Errno::Permission));
                    }
                    continue;
                }
                [b'&', b'&', ..] => true,
                [b'|', b'|', ..] => false,
                _ => {
                    let reason = Reason::TooManyPredicates;
                    return Err(Refused::with(reason, self.at, Errno::Permission));
                }
            };
            self.advance(2);
            return Ok(Some(Join::new(inversions.depth, and, inversions.now())));
        }
    }

    fn predicate(&mut self) -> Result<Predicate> {
        let name = self.take_while(is_name);
        if name.is_empty() {
            return Err(Refused::unsaid(Errno::Permission));
        }
        let name = self.text.get(name).unwrap_or(&[]);
        let own = self.scope.field(name);
        let Some(field) = own.or_else(|| field::of_every_event(name)) else {
            return Err(self.refuse(Reason::FieldNotFound));
        };
        let user = self.take(b".ustring");
        let function = self.take(b".function");
        self.skip_spaces();
        let found = OPERATORS
            .iter()
            .find(|(text, _)| self.rest().starts_with(text));
        let Some(&(text, operator)) = found else {
            return Err(self.refuse(Reason::InvalidOperator));
        };
        self.advance(text.len());
        self.skip_spaces();

        if function {
            return self.function(field, operator);
        }
        if self.scope.is_function_event() {
            return self.functions(name, operator);
        }
        match self.rest() {
            [b'C', b'P', b'U', b'S', ..] => self.cpu_list(field, operator),
            [quote @ (b'\'' | b'"'), ..] => self.quoted(field, operator, user, *quote),
            [b'-' | b'0'..=b'9', ..] => self.number(field, operator),
            _ => Err(self.refuse(Reason::InvalidValue)),
        }
    }

    /// `field.function == name` or an address: whether the field points into that function.
    fn function(&mut self, field: Field, operator: Operator) -> Result<Predicate> {
        let load = Load::new(field.offset, field.size)
            .filter(|load| load.bits == 64)
            .ok_or(self.refuse(Reason::IllegalFieldOperator))?;
        let not = match operator {
            Operator::Equal => false,
            Operator::NotEqual => true,
            _ => return Err(self.refuse(Reason::InvalidOperator)),
        };
        let found = if self.rest().first().is_some_and(u8::is_ascii_digit) {
            let digits = self.number_text()?;
            let address = number::unsigned(digits, 0);
            self.scope
                .function_at(address.map_err(|_| self.refuse(Reason::InvalidValue))?)
        } else {
            let name = self.take_while(|c| !is_space(c));
            let name = self.text.get(name).unwrap_or(&[]);
            self.scope.function(name)
        };
        let Range { start, end } = found.ok_or(self.refuse(Reason::NoFunction))?;
        let test = match end.wrapping_sub(start).checked_sub(1) {
            Some(span) => Test::Range {
                load,
                low: start,
                span,
            },
            None => Test::Never,
        };
        Ok((test, not))
    }

    /// `ip == names` of `ftrace:function`.
    fn functions(&mut self, name: &[u8], operator: Operator) -> Result<Predicate> {
        if name != b"ip" {
            return Err(self.refuse(Reason::IpFieldOnly));
        }
        let quote = self
            .rest()
            .first()
            .copied()
            .filter(|c| matches!(c, b'\'' | b'"'));
        let mut start = self.at;
        // The first character always belongs to the value.
        self.advance(1);
        self.take_while(|c| match quote {
            Some(quote) => c != quote,
            None => !matches!(c, b')' | b'&' | b'|'),
        });
        let end = self.at;
        if quote.is_some() {
            start = start.saturating_add(1);
            self.check_text(start..end)?;
            self.advance(1);
        } else {
            self.check_text(start..end)?;
        }
        let test = match (operator, range16(start..end)) {
            (Operator::Equal | Operator::NotEqual, Some((start, len))) => Test::Functions {
                not: operator == Operator::NotEqual,
                start,
                len,
            },
            _ => Test::Never,
        };
        Ok((test, false))
    }

    /// `CPUS{list}`.
    fn cpu_list(&mut self, field: Field, operator: Operator) -> Result<Predicate> {
        let test = match operator {
            Operator::Equal => MaskTest::Equal,
            Operator::NotEqual => MaskTest::Unequal,
            Operator::And => MaskTest::Shared,
            _ => return Err(self.refuse(Reason::IllegalFieldOperator)),
        };
        if !matches!(field.kind, Kind::CpuMask | Kind::Cpu | Kind::Number) {
            return Err(self.refuse(Reason::IllegalFieldOperator));
        }
        self.advance(4);
        let opened = self.rest().first() == Some(&b'{');
        self.at = self.at.saturating_add(1);
        if !opened {
            return Err(self.refuse(Reason::MissingBraceOpen));
        }
        let list = self.take_while(|c| c != b'}');
        if self.rest().is_empty() {
            return Err(self.refuse(Reason::MissingBraceClose));
        }
        let list = self.text.get(list).unwrap_or(&[]);
        let refused = self.refuse(Reason::InvalidCpuList);
        if list.is_empty() {
            return Err(refused);
        }

        let bits = self.scope.cpus();
        let words = bits.div_ceil(64);
        let (first, mask) = self.storage.mask(words)?;
        cpulist::parse(list, mask, bits).map_err(|_| refused)?;
        let single = single_bit(mask);
        let index = first.checked_div(words).unwrap_or(0);
        let mask = u16::try_from(index).map_err(|_| refused)?;
        self.advance(1);
        Ok(match single {
            Some(cpu) => cpu_predicate(field, test, cpu),
            None => (mask_test(field, test, mask), false),
        })
    }

    /// A text in quotes.
    fn quoted(
        &mut self,
        field: Field,
        operator: Operator,
        user: bool,
        quote: u8,
    ) -> Result<Predicate> {
        let mut not = match operator {
            Operator::NotEqual => true,
            Operator::Equal | Operator::Glob => false,
            _ => return Err(self.refuse(Reason::IllegalFieldOperator)),
        };
        if !field.kind.is_text() {
            return Err(self.refuse(Reason::ExpectDigit));
        }
        self.advance(1);
        let found = self.take_while(|c| c != quote);
        if self.rest().is_empty() {
            return Err(self.refuse(Reason::MissingQuote));
        }
        self.check_text(found.clone())?;
        self.advance(1);

        let (kind, found) = if operator == Operator::Glob {
            let pattern = Pattern::parse(self.text.get(found.clone()).unwrap_or(&[]));
            not = pattern.negated;
            let skip = usize::from(not).saturating_add(usize::from(matches!(
                pattern.kind,
                glob::Kind::End | glob::Kind::Middle
            )));
            let start = found.start.saturating_add(skip);
            let kind = match pattern.kind {
                // Only functions have an index.
                glob::Kind::Index => glob::Kind::Full,
                kind => kind,
            };
            (kind, start..start.saturating_add(pattern.text.len()))
        } else {
            (glob::Kind::Full, found)
        };
        let (start, len) = range16(found).ok_or(self.refuse(Reason::OperandTooLong))?;
        let (place, not) = match field.kind {
            Kind::Comm => (Place::Comm, not),
            Kind::Array if field.size == 0 => (Place::Tail(field.offset), not),
            Kind::Array => {
                let Field { offset, size, .. } = field;
                (Place::Array { offset, size }, not)
            }
            Kind::DataLoc => (Place::DataLoc(field.offset), not),
            Kind::RelLoc => (Place::RelLoc(field.offset), not),
            _ => {
                let place = Place::Memory {
                    offset: field.offset,
                    user,
                    negated: not,
                };
                (place, false)
            }
        };
        let text = Text { kind, start, len };
        Ok((Test::Text { place, text }, not))
    }

    fn number(&mut self, field: Field, operator: Operator) -> Result<Predicate> {
        if field.kind.is_text() {
            return Err(self.refuse(Reason::ExpectString));
        }
        if operator == Operator::Glob {
            return Err(self.refuse(Reason::IllegalFieldOperator));
        }
        let refused = self.refuse(Reason::IllegalNumber);
        let digits = self.number_text()?;
        let value = if field.signed {
            number::signed(digits, 0).map(|value| value as u64)
        } else {
            number::unsigned(digits, 0)
        };
        let value = value.map_err(|_| refused)?;
        Ok(number_predicate(field, operator, value))
    }

    /// The text of a number: an optional sign, digits and letters.
    fn number_text(&mut self) -> Result<&'a [u8]> {
        let start = self.at;
        self.take(b"-");
        self.take_while(is_alnum);
        if self.at.saturating_sub(start) >= NUMBER_MAX {
            return Err(self.refuse(Reason::OperandTooLong));
        }
        Ok(self.text.get(start..self.at).unwrap_or(&[]))
    }

    fn check_text(&self, range: Range<usize>) -> Result {
        if range.len() >= TEXT_MAX {
            return Err(self.refuse(Reason::OperandTooLong));
        }
        Ok(())
    }

    /// A refusal of a predicate. The caret points behind what has been read.
    fn refuse(&self, reason: Reason) -> Refused {
        Refused::new(reason, self.at.saturating_add(1))
    }

    fn rest(&self) -> &'a [u8] {
        self.text.get(self.at..).unwrap_or(&[])
    }

    fn advance(&mut self, count: usize) {
        self.at = self.at.saturating_add(count).min(self.text.len());
    }

    fn take(&mut self, word: &[u8]) -> bool {
        let found = self.rest().starts_with(word);
        if found {
            self.advance(word.len());
        }
        found
    }

    fn take_while(&mut self, belongs: impl Fn(u8) -> bool) -> Range<usize> {
        let start = self.at;
        let count = self.rest().iter().take_while(|&&c| belongs(c)).count();
        self.advance(count);
        start..self.at
    }

    fn skip_spaces(&mut self) {
        self.take_while(is_space);
    }
}

/// Compares a number or the CPU with `value`, which is cut to the width of the field.
fn number_predicate(field: Field, operator: Operator, value: u64) -> Predicate {
    let (load, shift) = match (field.kind, Load::new(field.offset, field.size)) {
        (Kind::Cpu, _) => (None, 32),
        (_, Some(load)) => (Some(load), load.shift()),
        (_, None) => return (Test::Never, false),
    };
    // Every value with its highest bit at the word's; what is below the number is anything.
    let value = value.wrapping_shl(shift);
    let below = !u64::MAX.wrapping_shl(shift);
    let one = below.wrapping_add(1);
    let (least, most) = if field.signed {
        (1 << 63, !(1 << 63) & !below)
    } else {
        (0, !below)
    };
    let range = |low: u64, high: u64| {
        let span = high.wrapping_sub(low) | below;
        match load {
            Some(load) => Test::Range { load, low, span },
            None => Test::Cpu { low, span },
        }
    };
    let test = match operator {
        Operator::Equal => range(value, value),
        Operator::NotEqual => return (range(value, value), true),
        Operator::Less if value == least => Test::Never,
        // Shifted as they are, one is `one`; the least value is not there, so nothing wraps round.
        Operator::Less => range(least, value.wrapping_sub(one)),
        Operator::LessOrEqual => range(least, value),
        Operator::Greater if value == most => Test::Never,
        Operator::Greater => range(value.wrapping_add(one), most),
        Operator::GreaterOrEqual => range(value, most),
        Operator::And => match load {
            Some(load) => Test::Bits { load, bits: value },
            None => Test::Never,
        },
        Operator::Glob => Test::Never,
    };
    (test, false)
}

/// Compares a field with a list of exactly one CPU.
fn cpu_predicate(field: Field, test: MaskTest, cpu: u16) -> Predicate {
    if field.kind == Kind::CpuMask {
        let location = field.offset;
        let test = Test::MaskCpu {
            location,
            test,
            cpu,
        };
        return (test, false);
    }
    let operator = match test {
        MaskTest::Unequal => Operator::NotEqual,
        MaskTest::Equal | MaskTest::Shared => Operator::Equal,
    };
    number_predicate(field, operator, cpu.into())
}

/// Compares a field with a list of any other number of CPUs.
fn mask_test(field: Field, test: MaskTest, mask: u16) -> Test {
    let of_cpu = match test {
        MaskTest::Equal => CpuTest::Never,
        MaskTest::Unequal => CpuTest::Always,
        MaskTest::Shared => CpuTest::Member,
    };
    match (field.kind, Load::new(field.offset, field.size)) {
        (Kind::CpuMask, _) => Test::Mask {
            location: field.offset,
            test,
            mask,
        },
        (Kind::Cpu, _) => Test::CpuMask { test: of_cpu, mask },
        (_, Some(load)) => Test::Number {
            load,
            test: of_cpu,
            mask,
        },
        (_, None) => Test::Never,
    }
}

/// The number of the only set bit of `mask`.
fn single_bit(mask: &[u64]) -> Option<u16> {
    let mut bits = (0u16..).zip(mask).filter(|(_, word)| **word != 0);
    let (index, word) = bits.next()?;
    if bits.next().is_some() || !word.is_power_of_two() {
        return None;
    }
    index
        .checked_mul(64)?
        .checked_add(word.trailing_zeros() as u16)
}

fn range16(range: Range<usize>) -> Option<(u16, u16)> {
    Some((range.start.try_into().ok()?, range.len().try_into().ok()?))
}

fn is_name(c: u8) -> bool {
    is_alnum(c) || c == b'_'
}
