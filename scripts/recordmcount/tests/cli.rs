// SPDX-License-Identifier: GPL-2.0

//! The program on files: what it replaces, what it leaves, what it says.

mod common;

use common::*;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A directory of one test, empty at its start.
fn directory(test: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

fn run(args: &[&str], files: &[&Path]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_recordmcount"))
        .args(args)
        .args(files)
        .output()
        .unwrap()
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<_> = entries
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn replaces_an_object_and_keeps_its_mode() {
    let dir = directory("replaces");
    let file = dir.join("a.o");
    fs::write(&file, c_object()).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();

    let output = run(&["-v"], &[&file]);
    assert!(output.status.success());
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        format!("{}: 4 sites\n", file.display())
    );
    let (new, _) = recordmcount::annotate(&c_object(), false).unwrap().unwrap();
    assert_eq!(fs::read(&file).unwrap(), new);
    assert_eq!(
        fs::metadata(&file).unwrap().permissions().mode() & 0o777,
        0o640
    );
    assert_eq!(names(&dir), ["a.o"]);

    let output = run(&["--list"], &[&file]);
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        ".init.text+0x0\n.text+0x0\n.text+0x24\n.text+0x30\n"
    );
}

#[test]
fn counts_entries_only_when_told() {
    let dir = directory("entries");
    let file = dir.join("a.o");
    fs::write(&file, rust_object()).unwrap();
    assert!(run(&[], &[&file]).status.success());
    assert_eq!(fs::read(&file).unwrap(), rust_object());
    assert!(run(&["--entries"], &[&file]).status.success());
    assert_ne!(fs::read(&file).unwrap(), rust_object());
}

#[test]
fn leaves_a_malformed_object_and_goes_on() {
    let dir = directory("malformed");
    let (bad, good) = (dir.join("bad.o"), dir.join("good.o"));
    let whole = c_object();
    let cut = &whole[..whole.len() - 1];
    fs::write(&bad, cut).unwrap();
    fs::write(&good, &whole).unwrap();

    let output = run(&[], &[&bad, &good]);
    assert_eq!(output.status.code(), Some(1));
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(
        message.starts_with(&format!("recordmcount: {}: <header>+0x", bad.display())),
        "{message}"
    );
    assert_eq!(message.lines().count(), 1);
    assert_eq!(fs::read(&bad).unwrap(), cut);
    assert_ne!(fs::read(&good).unwrap(), whole);
    assert_eq!(names(&dir), ["bad.o", "good.o"]);
}

#[test]
fn links_images_and_modules() {
    let dir = directory("links");
    let (vmlinux, ko) = (dir.join("vmlinux"), dir.join("a.ko"));
    let data = image(&[
        IMAGE_SITES[1],
        IMAGE_TEXT + 0x10,
        IMAGE_SITES[0],
        IMAGE_SITES[2],
    ]);
    fs::write(&vmlinux, &data).unwrap();
    fs::write(&ko, module()).unwrap();

    let output = run(&["--link", "-v"], &[&vmlinux, &ko]);
    assert!(output.status.success());
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("vmlinux: 3 sites, 1 dropped\n"), "{said}");
    assert!(said.contains("a.ko: 2 sites, 1 dropped\n"), "{said}");

    let new = fs::read(&vmlinux).unwrap();
    assert_eq!(new.len(), data.len());
    let output = run(&["--list"], &[&vmlinux]);
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        ".text+0x0\n.text+0x24\n.text+0x30\n.text+0x30\n"
    );
}

#[test]
fn leaves_an_image_that_it_refuses() {
    let dir = directory("refuses");
    let file = dir.join("vmlinux");
    let data = image(&[IMAGE_SITES[2], IMAGE_SITES[0], 0]);
    fs::write(&file, &data).unwrap();
    assert_eq!(run(&["--link"], &[&file]).status.code(), Some(1));
    assert_eq!(fs::read(&file).unwrap(), data);
}

#[test]
fn says_what_is_wrong_with_the_command_line() {
    for args in [
        &[] as &[&str],
        &["-w", "a.o"],
        &["--link", "--list", "a.o"],
        &["-v"],
    ] {
        let output = run(args, &[]);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(String::from_utf8(output.stderr)
            .unwrap()
            .contains("usage: recordmcount"));
    }
    let output = run(&[], &[Path::new("/nonexistent/a.o")]);
    assert_eq!(output.status.code(), Some(1));
}
