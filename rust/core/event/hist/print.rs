// SPDX-License-Identifier: GPL-2.0

//! The text of a definition, and that of entries.

use super::description::{
    Description, Effect, Form, Modifier, NodeId, Place, Sort, SortBy, Span, Value,
};
use super::map::{Element, Map};
use super::{DEPTH, KEY_WORDS, TEXT, VALUES};
use crate::core::format::symbol::Symbols;
use crate::core::format::Out;
use crate::core::parse::parser::until_nul;
use crate::core::sys::Shared;
use core::cell::Cell;
use core::cmp::Ordering;
use core::fmt;
use core::ops::{Deref, Range};

/// Prints addresses and system calls by name.
pub trait Names: Symbols {
    /// The name of a system call.
    fn syscall(&self, number: u64) -> Option<&[u8]>;
}

/// Counts the bytes that go to an [`Out`].
struct Counted<'a> {
    out: &'a mut dyn Out,
    count: usize,
}

impl fmt::Write for Counted<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.bytes(text.as_bytes())
    }
}

impl Out for Counted<'_> {
    fn bytes(&mut self, bytes: &[u8]) -> fmt::Result {
        self.count = self.count.saturating_add(bytes.len());
        self.out.bytes(bytes)
    }

    fn written(&mut self, write: &dyn Fn(&mut [u8]) -> usize) -> fmt::Result {
        let count = Cell::new(0);
        self.out.written(&|memory| {
            count.set(write(memory));
            count.get()
        })?;
        self.count = self.count.saturating_add(count.get());
        Ok(())
    }
}

/// Writes what `write` writes, and blanks up to `width` bytes.
fn padded(
    out: &mut dyn Out,
    width: usize,
    write: impl FnOnce(&mut dyn Out) -> fmt::Result,
) -> fmt::Result {
    let mut counted = Counted { out, count: 0 };
    write(&mut counted)?;
    let left = width.saturating_sub(counted.count);
    write!(out, "{:left$}", "")
}

/// Writes the name of a reference: `name` or `system.event.$name`.
fn reference(
    out: &mut dyn Out,
    text: &[u8],
    event: Option<(Span, Span)>,
    name: Span,
) -> fmt::Result {
    if let Some((system, event)) = event {
        out.bytes(system.within(text))?;
        out.bytes(b".")?;
        out.bytes(event.within(text))?;
        out.bytes(b".$")?;
    }
    out.bytes(name.within(text))
}

/// Writes the name of a field as entries have it. Errors only when `out` is full.
pub fn field_name(
    out: &mut dyn Out,
    description: &Description,
    text: &[u8],
    id: NodeId,
) -> fmt::Result {
    let node = description.node(id);
    let below = |of: NodeId| of < id;
    match node.value {
        Value::Constant(_) => Ok(()),
        Value::Stack => out.bytes(b"common_stacktrace"),
        Value::Reference(at) => {
            let references = description.references.as_slice();
            match references.get(usize::from(at)) {
                Some(known) => reference(out, text, known.event, known.name),
                None => Ok(()),
            }
        }
        Value::Negative(of) if below(of) => {
            out.bytes(b"-(")?;
            match description.node(of).is_expression() {
                true => write_node(out, description, text, of, false)?,
                false => operand(out, description, text, of)?,
            }
            out.bytes(b")")
        }
        Value::Operation(operator, a, b) if below(a) && below(b) => {
            operand(out, description, text, a)?;
            out.write_str(operator.sign())?;
            operand(out, description, text, b)
        }
        _ => out.bytes(node.name.within(text)),
    }
}

/// Writes a node as it is in an expression. Like a field, an operation says its unit there.
fn operand(out: &mut dyn Out, description: &Description, text: &[u8], id: NodeId) -> fmt::Result {
    let node = description.node(id);
    write_node(out, description, text, id, false)?;
    match node.is_stack() {
        true if node.modifier == Modifier::Plain => out.bytes(b".stacktrace"),
        true => write!(out, ".{}", node.modifier.name()),
        false if node.is_expression() && node.usecs => out.bytes(b".usecs"),
        false => Ok(()),
    }
}

/// Writes a node as it is among keys. See [`write_node`] for `signed`.
fn key_node(
    out: &mut dyn Out,
    description: &Description,
    text: &[u8],
    id: NodeId,
    signed: bool,
) -> fmt::Result {
    write_node(out, description, text, id, signed)?;
    match description.node(id).value {
        Value::StackField(_) => out.bytes(b".stacktrace"),
        _ => Ok(()),
    }
}

/// Writes a node as it is among values, variables and sort fields. A stack has no modifier there. The
/// size of buckets is a `signed` number there, as in C, and an unsigned one in an expression.
fn write_node(
    out: &mut dyn Out,
    description: &Description,
    text: &[u8],
    id: NodeId,
    signed: bool,
) -> fmt::Result {
    let node = description.node(id);
    match node.value {
        Value::Constant(number) => return write!(out, "{number}"),
        Value::Cpu => out.bytes(b"common_cpu")?,
        Value::Text(Place::Comm) => out.bytes(b"common_comm")?,
        Value::Reference(at) => {
            let references = description.references.as_slice();
            let known = references.get(usize::from(at));
            if known.is_some_and(|known| known.event.is_none()) {
                out.bytes(b"$")?;
            }
            return field_name(out, description, text, id);
        }
        Value::Stack | Value::StackField(_) => return field_name(out, description, text, id),
        _ => field_name(out, description, text, id)?,
    }
    if node.modifier != Modifier::Plain {
        write!(out, ".{}", node.modifier.name())?;
    }
    match node.modifier {
        Modifier::Buckets(size) if signed => write!(out, "={}", size as i64),
        Modifier::Buckets(size) => write!(out, "={size}"),
        _ => Ok(()),
    }
}

/// Writes `items`, with commas between them.
pub(super) fn list<T>(
    out: &mut dyn Out,
    items: impl Iterator<Item = T>,
    mut each: impl FnMut(&mut dyn Out, T) -> fmt::Result,
) -> fmt::Result {
    for (at, item) in items.enumerate() {
        if at > 0 {
            out.bytes(b",")?;
        }
        each(out, item)?;
    }
    Ok(())
}

/// Writes the keys, as a definition that can be read: `keys=…`. Errors only when `out` is full.
pub fn keys(out: &mut dyn Out, description: &Description, text: &[u8]) -> fmt::Result {
    all_keys(out, description, text, false)
}

/// Writes the keys. See [`write_node`] for `signed`.
fn all_keys(
    out: &mut dyn Out,
    description: &Description,
    text: &[u8],
    signed: bool,
) -> fmt::Result {
    out.bytes(b"keys=")?;
    let keys = description.keys.as_slice().iter();
    list(out, keys, |out, key| {
        key_node(out, description, text, key.node, signed)
    })
}

/// Writes keys, values, variables and the order: `keys=…:vals=…[:VAR=…]:sort=…`. Errors only when
/// `out` is full.
pub fn definition(
    out: &mut dyn Out,
    description: &Description,
    text: &[u8],
    hitcount: bool,
) -> fmt::Result {
    let node = |out: &mut dyn Out, id: NodeId| write_node(out, description, text, id, true);
    all_keys(out, description, text, true)?;
    out.bytes(b":vals=")?;
    let hitcount = hitcount.then_some(None);
    let values = description.values.as_slice().iter().copied().map(Some);
    list(
        out,
        hitcount.into_iter().chain(values),
        |out, id| match id {
            Some(id) => node(out, id),
            None => out.bytes(b"hitcount"),
        },
    )?;
    if !description.variables.is_empty() {
        out.bytes(b":")?;
        let variables = description.variables.as_slice().iter();
        list(out, variables, |out, variable| {
            out.bytes(variable.name.within(text))?;
            out.bytes(b"=")?;
            node(out, variable.node)?;
            let known = description.node(variable.node);
            match known.value {
                Value::Reference(_) if known.usecs => out.bytes(b".usecs"),
                _ => Ok(()),
            }
        })?;
    }
    out.bytes(b":sort=")?;
    let sort = description.sort.as_slice().iter();
    list(out, sort, |out, sort| {
        let id = match sort.by {
            SortBy::Hitcount => None,
            SortBy::Value(at) => description.values.as_slice().get(usize::from(at)).copied(),
            SortBy::Key(at) => {
                let key = description.keys.as_slice().get(usize::from(at));
                key.map(|key| key.node)
            }
        };
        match id {
            Some(id) => node(out, id)?,
            None => out.bytes(b"hitcount")?,
        }
        match sort.descending {
            true => out.bytes(b".descending"),
            false => Ok(()),
        }
    })
}

/// Sum and maximum of a value over all entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistic {
    sum: u64,
    max: u64,
}

/// The statistics of the values that are printed as shares; the hit count comes first.
pub type Statistics = [Statistic; VALUES + 1];

/// Computes the [`Statistics`].
pub fn statistics<S: Deref<Target = [Shared]>>(
    map: &Map<S>,
    elements: impl Iterator<Item = Element>,
) -> Statistics {
    let mut all = Statistics::default();
    for element in elements {
        let sums = map.layout().sums;
        for (sum, place) in all.iter_mut().enumerate().take(sums) {
            let value = map.sum(element, sum);
            place.sum = place.sum.wrapping_add(value);
            place.max = place.max.max(value);
        }
    }
    all
}

/// `value` in hundredths of a percent of `whole`. `None` if `whole` is too small.
fn share(value: u64, whole: u64) -> Option<u32> {
    let none = if value == 0 { Some(0) } else { None };
    if whole == 0 {
        return none;
    }
    let share = match value < u64::MAX / 10_000 {
        true => value.wrapping_mul(10_000).checked_div(whole),
        false => match whole / 10_000 {
            0 => return none,
            whole => value.checked_div(whole),
        },
    };
    share.map(|share| share as u32)
}

/// Writes an entry but for its newline. Errors only when `out` is full.
pub fn entry<S: Deref<Target = [Shared]>>(
    out: &mut dyn Out,
    (description, text): (&Description, &[u8]),
    (map, element): (&Map<S>, Element),
    statistics: &Statistics,
    names: &dyn Names,
) -> fmt::Result {
    key(out, (description, text), (map, element), names)?;
    if !description.no_hitcount {
        write!(out, " hitcount: {:>10}", map.sum(element, 0))?;
    }
    for (sum, id) in (1usize..).zip(description.values.as_slice()) {
        let node = description.node(*id);
        if node.is_expression() {
            continue;
        }
        out.bytes(b"  ")?;
        field_name(out, description, text, *id)?;
        let value = map.sum(element, sum);
        let statistic = statistics.get(sum).copied().unwrap_or_default();
        match node.modifier {
            Modifier::Percent => match share(value, statistic.sum) {
                Some(share) => write!(out, " (%): {:>3}.{:02}", share / 100, share % 100)?,
                None => out.bytes(b" (%):[ERROR]")?,
            },
            Modifier::Graph => match share(value, statistic.max) {
                Some(share) => {
                    let filled = (share.saturating_mul(20) / 10_000).min(20) as usize;
                    write!(out, ": {:#<filled$}{:left$}", "", "", left = 20 - filled)?;
                }
                None => write!(out, ": {:>20}", "[ERROR]")?,
            },
            Modifier::Hex => write!(out, ": {value:>10x}")?,
            _ => write!(out, ": {value:>10}")?,
        }
    }
    tracked(out, (description, text), (map, element))
}

/// Writes the greatest and last values that `onmax` and `onchange` have seen, and what is saved.
fn tracked<S: Deref<Target = [Shared]>>(
    out: &mut dyn Out,
    (description, text): (&Description, &[u8]),
    (map, element): (&Map<S>, Element),
) -> fmt::Result {
    for response in description.responses.as_slice() {
        let (Some(track), Effect::Save | Effect::Trace { .. }) = (response.track, &response.effect)
        else {
            continue;
        };
        out.bytes(match track.change {
            true => b"\n\tchanged: ",
            false => b"\n\tmax: ",
        })?;
        write!(out, "{:>10}", map.variable(element, track.slot.into()))?;
        for saved in description.saved.as_slice() {
            out.bytes(b"  ")?;
            out.bytes(saved.name.within(text))?;
            out.bytes(b": ")?;
            let node = description.node(saved.node);
            match (saved.text, node.form) {
                // C prints what nothing has saved as it prints a null pointer.
                (Some(_), Form::Text) if map.variable(element, saved.slot.into()) == 0 => {
                    padded(out, 32, |out| out.bytes(b"(null)"))?;
                }
                (Some(at), Form::Text) => {
                    let mut memory = [0; TEXT];
                    map.text(element, at.into(), &mut memory);
                    padded(out, 32, |out| out.bytes(until_nul(&memory)))?;
                }
                (_, Form::Number) => {
                    write!(out, "{:>10}", map.variable(element, saved.slot.into()))?;
                }
                // The number is an address.
                _ => write!(out, "{:>10}", 0)?,
            }
        }
    }
    Ok(())
}

/// Writes a key in braces. Errors only when `out` is full.
pub fn key<S: Deref<Target = [Shared]>>(
    out: &mut dyn Out,
    (description, text): (&Description, &[u8]),
    (map, element): (&Map<S>, Element),
    names: &dyn Names,
) -> fmt::Result {
    out.bytes(b"{ ")?;
    let mut lines = false;
    for (at, key) in description.keys.as_slice().iter().enumerate() {
        if at > 0 {
            out.bytes(b", ")?;
        }
        let node = description.node(key.node);
        let first = usize::from(key.first);
        let value = map.key_word(element, first);
        // C looks at these modifiers before it asks what the key is.
        let is_number = matches!(
            node.modifier,
            Modifier::Hex | Modifier::Sym | Modifier::SymOffset | Modifier::Syscall
        );
        match node.value {
            Value::Stack if !is_number => out.bytes(b"common_stacktrace:\n")?,
            Value::StackField(_) if !is_number => {
                out.bytes(node.name.within(text))?;
                out.bytes(b".stacktrace")?;
            }
            _ => {
                field_name(out, description, text, key.node)?;
                out.bytes(b": ")?;
            }
        }
        if node.is_stack() && !is_number {
            for word in 0..DEPTH {
                match map.key_word(element, first.wrapping_add(word)) {
                    0 => break,
                    call => {
                        out.bytes(b"         ")?;
                        address(out, names, call, true)?;
                        out.bytes(b"\n")?;
                    }
                }
            }
            lines = true;
            continue;
        }
        if node.is_text() && !is_number {
            let mut memory = [0; KEY_WORDS * 8];
            let len = usize::from(key.words).saturating_mul(8);
            map.key_bytes(element, first, memory.get_mut(..len).unwrap_or(&mut []));
            padded(out, 50, |out| out.bytes(until_nul(&memory)))?;
            continue;
        }
        match node.modifier {
            Modifier::Hex => write!(out, "{value:x}")?,
            Modifier::Sym | Modifier::SymOffset => {
                let offset = node.modifier == Modifier::SymOffset;
                write!(out, "[{value:x}] ")?;
                let width = if offset { 55 } else { 45 };
                padded(out, width, |out| address(out, names, value, offset))?;
            }
            Modifier::Execname => {
                let comm = map.comm(element);
                padded(out, 16, |out| out.bytes(until_nul(&comm)))?;
                write!(out, "[{value:>10}]")?;
            }
            Modifier::Syscall => {
                let name = names.syscall(value).unwrap_or(b"unknown_syscall");
                padded(out, 30, |out| out.bytes(name))?;
                write!(out, "[{value:>3}]")?;
            }
            Modifier::Log2 => write!(out, "~ 2^{value:<2}")?,
            Modifier::Buckets(size) => {
                let last = value.wrapping_add(size).wrapping_sub(1);
                write!(out, "~ {value}-{last}")?;
            }
            _ => write!(out, "{value:>10}")?,
        }
    }
    out.bytes(if lines { b"}" } else { b" }" })
}

/// Writes a kernel address as `%ps`, or with `offset` as `%pS`.
fn address(out: &mut dyn Out, names: &dyn Names, address: u64, offset: bool) -> fmt::Result {
    let address = address as usize;
    match offset {
        false => names.write_name(address, out),
        true => match names.write_symbol(address, true, out)? {
            true => Ok(()),
            false => write!(out, "0x{address:x}"),
        },
    }
}

/// Sorts entries for the output by `sort_by`, which is not stable. Those that are the same by the
/// definition's order are in the order of C, which has the same sort, and sorts by the bytes of the
/// whole key first.
pub fn sort<S: Deref<Target = [Shared]>>(
    what: (&Description, &[u8]),
    map: &Map<S>,
    elements: &mut [Element],
    sort_by: impl Fn(&mut [Element], &dyn Fn(&Element, &Element) -> Ordering),
) {
    sort_by(elements, &|a, b| {
        order_of_words(map, (*a, *b), map.key_words())
    });
    let mut sorts = what.0.sort.as_slice().iter();
    let Some(first) = sorts.next() else {
        return;
    };
    sort_by(elements, &|a, b| order(what, map, first, (*a, *b)));
    let Some(second) = sorts.next() else {
        return;
    };
    let same = |a: &Element, b: &Element| order(what, map, first, (*a, *b)).is_eq();
    for part in elements.chunk_by_mut(same) {
        sort_by(part, &|a, b| order(what, map, second, (*a, *b)));
    }
}

/// The order of two entries by one sort field.
fn order<S: Deref<Target = [Shared]>>(
    what: (&Description, &[u8]),
    map: &Map<S>,
    sort: &Sort,
    (a, b): (Element, Element),
) -> Ordering {
    let order = match sort.by {
        SortBy::Hitcount => map.sum(a, 0).cmp(&map.sum(b, 0)),
        SortBy::Value(at) => {
            let sum = usize::from(at).wrapping_add(1);
            map.sum(a, sum).cmp(&map.sum(b, sum))
        }
        SortBy::Key(at) => order_of_keys(what, map, (a, b), at),
    };
    match sort.descending {
        true => order.reverse(),
        false => order,
    }
}

/// The order of two entries by the bytes of some words of their keys.
fn order_of_words<S: Deref<Target = [Shared]>>(
    map: &Map<S>,
    (a, b): (Element, Element),
    words: Range<usize>,
) -> Ordering {
    let words = words.map(|word| (map.key_word(a, word), map.key_word(b, word)));
    let mut orders = words.map(|(a, b)| a.to_ne_bytes().cmp(&b.to_ne_bytes()));
    orders
        .find(|order| order.is_ne())
        .unwrap_or(Ordering::Equal)
}

fn order_of_keys<S: Deref<Target = [Shared]>>(
    (description, text): (&Description, &[u8]),
    map: &Map<S>,
    (a, b): (Element, Element),
    at: u8,
) -> Ordering {
    let Some(key) = description.keys.as_slice().get(usize::from(at)) else {
        return Ordering::Equal;
    };
    let node = description.node(key.node);
    let first = usize::from(key.first);
    // C does not sort by the name of the current task, unless it is asked for as a field.
    let is_unsorted = node.is_text() && node.name.within(text) == b"common_comm";
    if node.is_stack() || is_unsorted {
        return Ordering::Equal;
    }
    if node.is_text() {
        let words = first..first.wrapping_add(key.words.into());
        return order_of_words(map, (a, b), words);
    }
    // A field is sorted as it is without its modifier: by its own sign, and by as many bits. Those of a
    // negative number that is grouped may be more.
    let (signed, above) = match node.value {
        Value::Number { size, signed, .. } => {
            (signed, 64_u32.wrapping_sub(u32::from(size).wrapping_mul(8)))
        }
        _ => (node.signed, 0),
    };
    let number = |element| map.key_word(element, first).wrapping_shl(above);
    let (a, b) = (number(a), number(b));
    match signed {
        true => (a as i64).cmp(&(b as i64)),
        false => a.cmp(&b),
    }
}
