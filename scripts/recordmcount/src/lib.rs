// SPDX-License-Identifier: GPL-2.0

//! The section pass: records where the kernel's functions can be patched, and makes the sites NOPs.
//!
//! A *site* is the 5-byte instruction at the start of a traced function, behind `endbr64` where
//! there is one. A *table* is a section `__mcount_loc` of 8-byte addresses of sites; the kernel's
//! linker script gathers the tables of all objects between `__start_mcount_loc` and
//! `__stop_mcount_loc`.
//!
//! - [`annotate`] does one object after it is compiled: finds sites (`sites`), writes the table
//!   (`rewrite`, with `symtab` where a symbol is missing) and makes calls and foreign NOPs the
//!   kernel's NOP.
//! - [`prune_image`] does the linked `vmlinux`: sorts the table and drops sites that belong to no
//!   function any more.
//! - [`prune_module`] does the same to a linked module, which is still relocatable.
//! - [`list`] names the sites of an object or a module that has its table.
//!
//! All of them take bytes and return bytes, so that a file is replaced only when all has gone well;
//! `main` does the reading, the writing and the messages. `Documentation/section-pass.md` tells the
//! formats and the place in the build.

mod elf;
mod error;
mod link;
mod rewrite;
mod sites;
mod symtab;
mod x86;

pub use error::{Error, Result};
pub use link::{list, prune_image, prune_module, ImagePatch, Listed, Pruned};

use elf::{Elf, MCOUNT_LOC};
use object::elf::ET_REL;

/// Gives an object its table of sites.
///
/// `entries` says that the patchable function entries of the object are sites, as they are in Rust
/// code. Returns the new file and the number of its sites, or `None` where the object has no sites
/// or has its table already.
pub fn annotate(data: &[u8], entries: bool) -> Result<Option<(Vec<u8>, usize)>> {
    let elf = Elf::parse(data, &[ET_REL])?;
    let Some(symbols) = elf.symbols()? else {
        return Ok(None);
    };
    let scan = sites::scan(&elf, &symbols, entries)?;
    let Some(first) = scan.sites.first() else {
        return Ok(None);
    };
    if elf.named(MCOUNT_LOC).next().is_some() {
        let message = format!("a site that the object's {MCOUNT_LOC} section cannot know of");
        return Err(Error::new(elf.name(first.section), first.offset, message));
    }
    let count = scan.sites.len();
    Ok(Some((rewrite::rewrite(&elf, &symbols, scan)?, count)))
}
