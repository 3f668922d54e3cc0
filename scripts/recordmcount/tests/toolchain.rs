// SPDX-License-Identifier: GPL-2.0

//! The pass between a real compiler and a real linker.
//!
//! Wants clang, ld.lld and rustc; `CLANG`, `LD_LLD` and `RUSTC` in the environment name others than
//! the first found. A machine that has none of them fails here, unless `RTRACE_NO_COMPILER=1` says
//! that this is known.

use recordmcount::{annotate, list, prune_image, prune_module};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const CFLAGS: [&str; 10] = [
    "-O2",
    "-ffreestanding",
    "-fno-pic",
    "-mcmodel=kernel",
    "-fno-asynchronous-unwind-tables",
    "-fcf-protection=branch",
    "-ffunction-sections",
    "-pg",
    "-mfentry",
    "-c",
];

const WEAK: &str = r#"
extern int strong(int);
static __attribute__((noinline)) int local(int a) { return a * 3; }
__attribute__((weak)) int chosen(int a) { return local(a) + 1; }
__attribute__((section(".init.text"))) int setup(int a) { return chosen(a) + strong(a); }
__attribute__((no_instrument_function)) int untraced(int a) { return a ^ 5; }
"#;

const STRONG: &str = r#"
int chosen(int a) { return a - 1; }
int strong(int a) { return a + 2; }
void __fentry__(void) { }
"#;

const SCRIPT: &str = r#"
SECTIONS {
	. = 0xffffffff81000000;
	.text : { *(.text .text.*) *(.init.text) }
	. = ALIGN(4096);
	.init.data : {
		*(.data)
		. = ALIGN(8);
		__start_mcount_loc = .;
		KEEP(*(__mcount_loc))
		__stop_mcount_loc = .;
	}
	/DISCARD/ : { *(__patchable_function_entries) *(.comment) *(.note*) *(.eh_frame) }
}
"#;

const RUST: &str = r#"
#![no_std]
#[no_mangle]
pub extern "C" fn doubled(a: u32) -> u32 { a.wrapping_mul(2) }
#[no_mangle]
pub extern "C" fn inverted(a: u32) -> u32 { !doubled(a) }
"#;

/// The programs, or `None` where the environment says that there are none.
struct Tools {
    clang: String,
    lld: String,
    rustc: String,
}

fn tools() -> Option<Tools> {
    if env::var("RTRACE_NO_COMPILER").is_ok_and(|value| value == "1") {
        return None;
    }
    let first = |variable: &str, names: &[&str]| -> String {
        let named = env::var(variable).ok().into_iter();
        named
            .chain(names.iter().map(|name| name.to_string()))
            .find(|name| Command::new(name).arg("--version").output().is_ok())
            .unwrap_or_else(|| {
                panic!(
                    "none of {names:?} here; name one by {variable}, or set RTRACE_NO_COMPILER=1"
                )
            })
    };
    Some(Tools {
        clang: first(
            "CLANG",
            &["clang-22", "clang-21", "clang-20", "clang-19", "clang"],
        ),
        lld: first(
            "LD_LLD",
            &["ld.lld-22", "ld.lld-21", "ld.lld-20", "ld.lld-19", "ld.lld"],
        ),
        rustc: first("RUSTC", &["rustc"]),
    })
}

fn directory(test: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

fn run(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Compiles C and runs the pass on the object; returns the object's path.
fn compiled(tools: &Tools, dir: &Path, name: &str, source: &str) -> PathBuf {
    let (c, o) = (dir.join(format!("{name}.c")), dir.join(format!("{name}.o")));
    fs::write(&c, source).unwrap();
    run(Command::new(&tools.clang)
        .args(CFLAGS)
        .arg("-o")
        .arg(&o)
        .arg(&c));
    let (new, _) = annotate(&fs::read(&o).unwrap(), false).unwrap().unwrap();
    fs::write(&o, new).unwrap();
    o
}

fn listed(path: &Path) -> Vec<String> {
    let sites = list(&fs::read(path).unwrap()[..]).unwrap();
    sites
        .iter()
        .map(|site| format!("{}+{:#x}", site.section, site.offset))
        .collect()
}

#[test]
fn objects_of_c() {
    let Some(tools) = tools() else { return };
    let dir = directory("objects_of_c");
    let weak = compiled(&tools, &dir, "weak", WEAK);
    // Each function has its section; behind `endbr64` where one can get there by an indirect
    // branch.
    let sites = listed(&weak);
    let sections: Vec<_> = sites
        .iter()
        .map(|site| site.split('+').next().unwrap())
        .collect();
    assert_eq!(sections, [".init.text", ".text.chosen", ".text.local"]);
    assert_eq!(sites[..2], [".init.text+0x4", ".text.chosen+0x4"]);
}

#[test]
fn a_linked_kernel() {
    let Some(tools) = tools() else { return };
    let dir = directory("a_linked_kernel");
    let objects = [
        compiled(&tools, &dir, "weak", WEAK),
        compiled(&tools, &dir, "strong", STRONG),
    ];
    let (script, vmlinux) = (dir.join("vmlinux.lds"), dir.join("vmlinux"));
    fs::write(&script, SCRIPT).unwrap();
    run(Command::new(&tools.lld)
        .args(["--emit-relocs", "--entry=setup", "-T"])
        .arg(&script)
        .arg("-o")
        .arg(&vmlinux)
        .args(&objects));

    let data = fs::read(&vmlinux).unwrap();
    let patch = prune_image(&data[..]).unwrap();
    // setup, local, and of the other file chosen, strong, __fentry__; the weak chosen is dropped.
    assert_eq!((patch.pruned.sites, patch.pruned.dropped), (5, 1));
    let table: Vec<u64> = patch
        .bytes
        .chunks(8)
        .map(|word| u64::from_le_bytes(word.try_into().unwrap()))
        .collect();
    assert!(
        table[..5].windows(2).all(|pair| pair[0] < pair[1]),
        "{table:x?}"
    );
    assert_eq!(table[4], table[5]);
}

#[test]
fn a_linked_module() {
    let Some(tools) = tools() else { return };
    let dir = directory("a_linked_module");
    let objects = [
        compiled(&tools, &dir, "weak", WEAK),
        compiled(&tools, &dir, "strong", STRONG),
    ];
    let (script, ko) = (dir.join("module.lds"), dir.join("a.ko"));
    fs::write(
        &script,
        "SECTIONS { .text 0 : { *(.text .text.[0-9a-zA-Z_]*) } }",
    )
    .unwrap();
    run(Command::new(&tools.lld)
        .args(["-r", "-T"])
        .arg(&script)
        .arg("-o")
        .arg(&ko)
        .args(&objects));
    let (new, pruned) = prune_module(&fs::read(&ko).unwrap()).unwrap().unwrap();
    assert_eq!((pruned.sites, pruned.dropped), (5, 1));

    // What the pass leaves must still be a file that the linker takes.
    fs::write(&ko, new).unwrap();
    assert_eq!(listed(&ko).len(), 5);
    run(Command::new(&tools.lld)
        .arg("-r")
        .arg("-o")
        .arg(dir.join("b.ko"))
        .arg(&ko));
    assert_eq!(listed(&dir.join("b.ko")), listed(&ko));
}

#[test]
fn objects_of_rust() {
    let Some(tools) = tools() else { return };
    let dir = directory("objects_of_rust");
    let source = dir.join("a.rs");
    fs::write(&source, RUST).unwrap();
    for (flags, offset) in [
        (["-Zpatchable-function-entry=5", "-Zcf-protection=none"], 0),
        (
            ["-Zpatchable-function-entry=5", "-Zcf-protection=branch"],
            4,
        ),
        (
            ["-Zpatchable-function-entry=21,16", "-Zcf-protection=branch"],
            20,
        ),
    ] {
        let object = dir.join("a.o");
        run(Command::new(&tools.rustc)
            .env("RUSTC_BOOTSTRAP", "1")
            .args([
                "--crate-type=lib",
                "--emit=obj",
                "-Copt-level=2",
                "-Cpanic=abort",
            ])
            .args(flags)
            .arg("-o")
            .arg(&object)
            .arg(&source));
        let (new, _) = annotate(&fs::read(&object).unwrap(), true)
            .unwrap()
            .unwrap();
        fs::write(&object, new).unwrap();
        assert_eq!(
            listed(&object),
            [
                format!(".text.doubled+{offset:#x}"),
                format!(".text.inverted+{offset:#x}")
            ],
            "{flags:?}"
        );
        run(Command::new(&tools.lld)
            .arg("-r")
            .arg("-o")
            .arg(dir.join("b.o"))
            .arg(&object));
        assert_eq!(listed(&dir.join("b.o")), listed(&object));
    }
}
