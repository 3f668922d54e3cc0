// SPDX-License-Identifier: GPL-2.0

//! Programs in Rust and C, compiled with debugging information, of which it is known what is inlined.

use inlined::{inlined, Error};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const RUST: &str = "
    pub struct S(u32);
    impl S {
        #[inline(always)]
        fn method(&self) -> u32 { let y = self.0; y.rotate_left(y & 7) ^ 77 }
    }
    #[inline(always)]
    fn always(x: u32) -> u32 { let mut s = 0; for i in 0..x { s ^= i * x; } s }
    #[inline(never)]
    fn never(x: u32) -> u32 { always(x) + S(x).method() }
    #[no_mangle]
    pub extern \"C\" fn entry(x: u32) -> u32 { never(x) }
";

const C: &str = "
    static inline __attribute__((always_inline)) int always(int x) { return x * x % 7; }
    static int both(int x) { return x / 7; }
    static inline int unused(int x) { return x; }
    int (*taken)(int) = both;
    int entry(int x) { return always(x) + both(x); }
";

/// Writes `source`, compiles it with `command` to a shared object, and gives that.
fn compiled(name: &str, source: &str, command: &mut Command) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&folder).unwrap();
    let (input, output) = (folder.join("source"), folder.join("out.so"));
    fs::write(&input, source).unwrap();
    let status = command.arg("-o").arg(&output).arg(&input).status();
    assert!(status.unwrap().success());
    fs::read(output).unwrap()
}

/// The crate `name`, compiled.
fn rust(name: &str, options: &[&str]) -> Vec<u8> {
    let rustc = env::var_os("RUSTC").map_or(PathBuf::from("rustc"), PathBuf::from);
    let mut command = Command::new(rustc);
    command.args([
        "--crate-type=cdylib",
        "--crate-name",
        name,
        "--edition=2021",
        "-Csymbol-mangling-version=v0",
        "-Copt-level=2",
    ]);
    compiled(name, RUST, command.args(options))
}

fn c(name: &str, options: &[&str]) -> Option<Vec<u8>> {
    let known = ["clang", "clang-22", "clang-19", "gcc"];
    let found = known.into_iter().find(|compiler| {
        let mut asked = Command::new(compiler);
        asked.arg("--version").output().is_ok()
    })?;
    let mut command = Command::new(found);
    command.args(["-O2", "-fPIC", "-shared", "-x", "c"]);
    Some(compiled(name, C, command.args(options)))
}

fn names(data: &[u8]) -> Vec<String> {
    let name = |name| String::from_utf8(name).unwrap();
    inlined(data).unwrap().into_iter().map(name).collect()
}

#[test]
fn rust_functions_have_their_mangled_names() {
    let names = names(&rust("sample", &["-g"]));
    let has = |end: &str| {
        names
            .iter()
            .any(|name| name.starts_with("_R") && name.ends_with(end))
    };
    assert!(has("6sample6always"), "{names:?}");
    assert!(has("6sampleNtB2_1S6method"), "{names:?}");
    assert!(!has("6sample5never") && !names.contains(&"entry".into()));
    assert!(names.is_sorted());
}

#[test]
fn our_own_are_left_out() {
    let names = names(&rust("rtrace", &["-g"]));
    assert!(!names.is_empty() && !names.iter().any(|name| name.contains("_6rtrace")));
}

#[test]
fn c_functions() {
    for version in ["-gdwarf-4", "-gdwarf-5"] {
        let Some(data) = c(version, &[version]) else {
            eprintln!("skipped: no C compiler");
            return;
        };
        assert_eq!(names(&data), ["always"]);
    }
}

#[test]
fn what_cannot_tell_is_refused() {
    assert!(matches!(inlined(b""), Err(Error::Elf(_))));
    assert!(matches!(inlined(RUST.as_bytes()), Err(Error::Elf(_))));
    let stripped = rust("stripped", &["-Cdebuginfo=0", "-Cstrip=symbols"]);
    assert!(matches!(inlined(&stripped), Err(Error::NoDwarf)));
    if let Some(object) = c("object", &["-g", "-c"]) {
        assert!(matches!(inlined(&object), Err(Error::Relocatable)));
    }
    if let Some(compressed) = c("compressed", &["-g", "-Wl,--compress-debug-sections=zlib"]) {
        assert!(matches!(inlined(&compressed), Err(Error::Compressed)));
    }
}

#[test]
fn damage_is_an_error_and_no_panic() {
    let Some(data) = c("damaged", &["-g"]) else {
        return;
    };
    for at in (0..data.len()).step_by(7) {
        let mut damaged = data.clone();
        damaged[at] ^= 0xff;
        let _ = inlined(&damaged);
        let _ = inlined(&data[..at]);
    }
}
