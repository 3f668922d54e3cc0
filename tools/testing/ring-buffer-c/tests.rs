// SPDX-License-Identifier: GPL-2.0

//! The cases as tests. `host` runs them.

#![cfg(c_ring_buffer)]

use rtrace_ring_buffer_c::cases;

macro_rules! cases {
    ($($name:ident)*) => {$(
        #[test]
        fn $name() {
            cases::run(stringify!($name), cases::$name);
        }
    )*};
}

cases! {
    plain nested discards nested_discards resizes interrupted mapped clocks iterators
    full_of_unfinished_events
}
