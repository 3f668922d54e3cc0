// SPDX-License-Identifier: GPL-2.0

//! The command line of the section pass: `recordmcount [--entries | --link | --list] [-v] FILE...`.
//!
//! A file is replaced at once, by renaming a finished new one over it, or not at all; of `vmlinux`
//! only the table is written, in one go, after everything has been checked. Exit status: 0 all
//! well, 1 a file was refused, 2 wrong usage.

use object::read::ReadCache;
use recordmcount::{annotate, list, prune_image, prune_module, Error, Pruned};
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "\
usage: recordmcount [--entries | --link | --list] [-v] FILE...

  (none)     give each object its table of patch sites and make the sites NOPs
  --entries  the same, counting patchable function entries too (objects of Rust code)
  --link     sort the table of vmlinux or of a module and drop sites of no function
  --list     print the sites in a file's table as SECTION+0xOFFSET
  -v         tell what was done to each file";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Object { entries: bool },
    Link,
    List,
}

struct Options {
    mode: Mode,
    verbose: bool,
    files: Vec<PathBuf>,
}

/// Why a file was not done.
enum Failure {
    Io(io::Error),
    Elf(Error),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Failure::Io(error)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Elf(error)
    }
}

fn main() -> ExitCode {
    let options = match parse(std::env::args_os().skip(1)) {
        Ok(options) => options,
        Err(message) => {
            eprintln!("recordmcount: {message}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let mut status = ExitCode::SUCCESS;
    for file in &options.files {
        let failure = match run(&options, file) {
            Ok(()) => continue,
            Err(Failure::Io(error)) => error.to_string(),
            Err(Failure::Elf(error)) => error.to_string(),
        };
        eprintln!("recordmcount: {}: {failure}", file.display());
        status = ExitCode::FAILURE;
    }
    status
}

fn parse(args: impl Iterator<Item = OsString>) -> Result<Options, String> {
    let mut mode = None;
    let mut verbose = false;
    let mut files = Vec::new();
    for arg in args {
        let chosen = match arg.to_str() {
            Some("--entries") => Mode::Object { entries: true },
            Some("--link") => Mode::Link,
            Some("--list") => Mode::List,
            Some("-v") => {
                verbose = true;
                continue;
            }
            Some(option) if option.starts_with('-') => {
                return Err(format!("unknown option {option}"))
            }
            _ => {
                files.push(PathBuf::from(arg));
                continue;
            }
        };
        if mode.replace(chosen).is_some() {
            return Err("more than one of --entries, --link and --list".into());
        }
    }
    if files.is_empty() {
        return Err("no file".into());
    }
    Ok(Options {
        mode: mode.unwrap_or(Mode::Object { entries: false }),
        verbose,
        files,
    })
}

fn run(options: &Options, file: &Path) -> Result<(), Failure> {
    let tell = |what: String| {
        if options.verbose {
            println!("{}: {what}", file.display());
        }
    };
    match options.mode {
        Mode::Object { entries } => match annotate(&fs::read(file)?, entries)? {
            Some((bytes, sites)) => {
                replace(file, &bytes)?;
                tell(format!("{sites} sites"));
            }
            None => tell("unchanged".into()),
        },
        Mode::Link => match link(file)? {
            Some(Pruned { sites, dropped }) => tell(format!("{sites} sites, {dropped} dropped")),
            None => tell("unchanged".into()),
        },
        Mode::List => {
            let mut out = io::stdout().lock();
            for site in list(&ReadCache::new(File::open(file)?))? {
                writeln!(out, "{}+{:#x}", site.section, site.offset)?;
            }
        }
    }
    Ok(())
}

/// Does the pass over a linked file: a module, which is relocatable and small, or `vmlinux`.
fn link(file: &Path) -> Result<Option<Pruned>, Failure> {
    let mut input = File::open(file)?;
    if is_relocatable(&mut input)? {
        let mut bytes = Vec::new();
        input.rewind()?;
        input.read_to_end(&mut bytes)?;
        let Some((new, pruned)) = prune_module(&bytes)? else {
            return Ok(None);
        };
        if new != bytes {
            replace(file, &new)?;
        }
        return Ok(Some(pruned));
    }
    let patch = prune_image(&ReadCache::new(input))?;
    let mut output = OpenOptions::new().write(true).open(file)?;
    output.seek(SeekFrom::Start(patch.offset))?;
    output.write_all(&patch.bytes)?;
    Ok(Some(patch.pruned))
}

/// Whether the file says that it is relocatable; all else about it is checked later.
fn is_relocatable(input: &mut File) -> io::Result<bool> {
    let mut start = Vec::new();
    input.take(18).read_to_end(&mut start)?;
    Ok(start.get(16..18) == Some(&object::elf::ET_REL.to_le_bytes()))
}

/// Puts `bytes` in place of the contents of `file`, keeping its mode; on an error `file` is as
/// before.
fn replace(file: &Path, bytes: &[u8]) -> io::Result<()> {
    // A symbolic link stays one.
    let file = fs::canonicalize(file)?;
    let mut name = OsString::from(".");
    name.push(file.file_name().unwrap_or_default());
    name.push(format!(".{}.tmp", std::process::id()));
    let temporary = file.with_file_name(name);
    let written = write_new(&temporary, &file, bytes).and_then(|()| fs::rename(&temporary, &file));
    if written.is_err() {
        // The first error is the one to tell; the file may not even exist.
        let _ = fs::remove_file(&temporary);
    }
    written
}

fn write_new(temporary: &Path, file: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut output = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(temporary)?;
    output.write_all(bytes)?;
    output.set_permissions(fs::metadata(file)?.permissions())
}
