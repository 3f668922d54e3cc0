// SPDX-License-Identifier: GPL-2.0

//! What the fuzz targets do (`fuzz/`), with the inputs that are kept in `fuzz/corpus`: a line each.

#![cfg(not(loom))]

#[path = "fuzz/filter.rs"]
mod filter;
#[path = "fuzz/hist.rs"]
mod hist;
#[path = "fuzz/probe.rs"]
mod probe;
#[path = "fuzz/rust_name.rs"]
mod rust_name;
#[path = "fuzz/sub_buffer.rs"]
mod sub_buffer;
#[path = "fuzz/synth.rs"]
mod synth;
#[path = "fuzz/trigger.rs"]
mod trigger;
#[path = "fuzz/user.rs"]
mod user;

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// An input takes far less than a second.
const PATIENCE: Duration = Duration::from_secs(60);

/// Files take no longer text.
const PAGE: usize = 4096;

/// The bytes that a line of a corpus stands for, as `fuzz/corpus.py` has them.
fn unescape(line: &str) -> Vec<u8> {
    let mut bytes = line.bytes();
    let mut all = Vec::new();
    while let Some(byte) = bytes.next() {
        all.push(match byte {
            b'\\' => match bytes.next().unwrap() {
                b'n' => b'\n',
                b't' => b'\t',
                b'r' => b'\r',
                b'x' => {
                    let mut digit = || char::from(bytes.next().unwrap()).to_digit(16).unwrap();
                    (digit() * 16 + digit()) as u8
                }
                other => other,
            },
            byte => byte,
        });
    }
    all
}

/// Runs a target with each line, with some beginnings of it, and with as many of it as a page has.
fn replay(run: fn(&[u8]), corpus: &'static str) {
    let inputs = || {
        let lines = corpus.lines();
        lines.filter(|line| !line.is_empty() && !line.starts_with('#'))
    };
    assert!(inputs().count() > 10);
    let (done, each) = mpsc::channel();
    let thread = thread::spawn(move || {
        for line in inputs() {
            let input = unescape(line);
            run(&input);
            let steps = (0..input.len()).step_by(1 + input.len() / 16);
            steps.for_each(|length| run(&input[..length]));
            run(&input.repeat(PAGE / input.len()));
            let _ = done.send(());
        }
    });
    for line in inputs() {
        match each.recv_timeout(PATIENCE) {
            Ok(()) => {}
            Err(RecvTimeoutError::Timeout) => panic!("it does not end: {line}"),
            Err(RecvTimeoutError::Disconnected) => panic!("it fails: {line}"),
        }
    }
    thread.join().unwrap();
}

macro_rules! targets {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                replay($name::run, include_str!(concat!("../fuzz/corpus/", stringify!($name), ".txt")));
            }
        )*
    };
}

targets!(filter hist probe rust_name sub_buffer synth trigger user);

#[test]
fn escapes() {
    assert_eq!(unescape(r"a\\b\x00\xfe\n\t\r\x23"), b"a\\b\0\xfe\n\t\r#");
}
