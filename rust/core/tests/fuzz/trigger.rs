// SPDX-License-Identifier: GPL-2.0

//! Any bytes as a trigger: it is taken apart or refused, what is taken lies in the text, and what is
//! written of it means the same.

use rtrace_core::event::trigger::{write, Command, Params};
use rtrace_core::format::LineBuf;
use rtrace_core::parse::command::Count;
use rtrace_core::parse::parser::is_space;

fn lies_in(part: &[u8], text: &[u8]) {
    assert!(part.is_empty() || text.as_ptr_range().contains(&part.as_ptr()));
    assert!(part.as_ptr_range().end <= text.as_ptr_range().end);
}

/// Count and filter, both of them good.
fn good<'a>(params: &Params<'a>, text: &[u8]) -> Option<(Count, Option<&'a [u8]>)> {
    let (count, filter) = (params.count(), params.filter());
    if let Ok(Some(filter)) = filter {
        lies_in(filter, text);
        assert!(!filter.is_empty());
    }
    Some((count.ok()?, filter.ok()?))
}

/// A trigger with these parameters.
fn command(remove: bool, name: &[u8], (count, filter): (Count, Option<&[u8]>)) -> Vec<u8> {
    let mut text = if remove { b"!".to_vec() } else { Vec::new() };
    text.extend_from_slice(name);
    if let Count::Times(times) = count {
        // A C long, which may be negative.
        text.extend(format!(":{}", times as u64).bytes());
    }
    if let Some(filter) = filter {
        text.extend_from_slice(b" if ");
        text.extend_from_slice(filter);
    }
    text
}

fn is_shown(params: (Count, Option<&[u8]>)) {
    let mut memory = vec![0; params.1.map_or(0, <[u8]>::len) + 40];
    let mut out = LineBuf::new(&mut memory);
    write(&mut out, params.0, params.1).unwrap();
    assert!(out.as_bytes().starts_with(b":") && out.as_bytes().ends_with(b"\n"));
}

pub fn run(bytes: &[u8]) {
    let parsed = Command::parse(bytes);
    lies_in(parsed.name, bytes);
    lies_in(parsed.rest.unwrap_or(&[]), bytes);
    let ends_blank = |text: &[u8]| text.last().is_some_and(|byte| is_space(*byte));
    if let Some(params) = good(&parsed.optional(), bytes) {
        is_shown(params);
        let text = command(parsed.remove, parsed.name, params);
        let again = Command::parse(&text);
        // No trigger has an empty name.
        if !ends_blank(&text) && !parsed.name.is_empty() {
            assert_eq!((again.remove, again.name), (parsed.remove, parsed.name));
            assert_eq!(good(&again.optional(), &text), Some(params));
        }
    }
    let Ok(target) = parsed.target() else {
        return;
    };
    lies_in(target.system, bytes);
    lies_in(target.event, bytes);
    assert!(target.system.len() + target.event.len() < bytes.len());
    if let Some(params) = good(&target.params, bytes) {
        let name = [parsed.name, target.system, target.event].join(&b':');
        let text = command(parsed.remove, &name, params);
        if !ends_blank(&text) && !parsed.name.is_empty() {
            let again = Command::parse(&text);
            let other = again.target().unwrap();
            assert_eq!(
                (again.name, other.system, other.event),
                (parsed.name, target.system, target.event)
            );
            assert_eq!(good(&other.params, &text), Some(params));
        }
    }
}
