// SPDX-License-Identifier: GPL-2.0

//! `inlined FILE`: prints the functions that a linked kernel has only inlined, one a line. Exit
//! status 1 if the file cannot tell.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    let (Some(path), None) = (args.next(), args.next()) else {
        eprintln!("usage: inlined FILE");
        return ExitCode::from(2);
    };
    match print(&path) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("inlined: {}: {error}", Path::new(&path).display());
            ExitCode::FAILURE
        }
    }
}

fn print(path: &std::ffi::OsStr) -> Result<(), Box<dyn std::error::Error>> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    for name in inlined::inlined(&std::fs::read(path)?)? {
        out.write_all(&name)?;
        out.write_all(b"\n")?;
    }
    Ok(out.flush()?)
}
