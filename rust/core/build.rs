// SPDX-License-Identifier: GPL-2.0

//! Sets the cfg `asm_goto` if rustc supports labels in `asm!` without a feature gate, which it does
//! from 1.87 on. On the host, `RTRACE_CORE_CFG=name` sets one more, which costs no other crate a new
//! build as `RUSTFLAGS` does (tools/testing/times).

use std::process::Command;

fn main() {
    println!("cargo::rustc-check-cfg=cfg(asm_goto)");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=RTRACE_CORE_CFG");
    if let Ok(name) = std::env::var("RTRACE_CORE_CFG") {
        println!("cargo::rustc-cfg={name}");
    }
    let rustc = std::env::var_os("RUSTC").unwrap_or("rustc".into());
    let version = Command::new(rustc)
        .arg("--version")
        .output()
        .map(|output| output.stdout)
        .unwrap_or_default();
    let version = String::from_utf8_lossy(&version);
    let minor = version
        .strip_prefix("rustc 1.")
        .and_then(|rest| rest.split('.').next()?.parse::<u32>().ok());
    if minor.is_some_and(|minor| minor >= 87) {
        println!("cargo::rustc-cfg=asm_goto");
    }
}
