// SPDX-License-Identifier: GPL-2.0

//! Links the tests with C's ring buffer, the object that `RTRACE_C_RING_BUFFER` names (`host` sets
//! it). Without that there are no tests, and the rest is compiled all the same.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=RTRACE_C_RING_BUFFER");
    if let Ok(object) = std::env::var("RTRACE_C_RING_BUFFER") {
        println!("cargo::rerun-if-changed={object}");
        println!("cargo::rustc-link-arg-tests={object}");
        println!("cargo::rustc-cfg=c_ring_buffer");
    }
}
