// SPDX-License-Identifier: GPL-2.0

//! Writes the files of the tests into a folder, for the fuzz target to begin with.

#[path = "../tests/common/mod.rs"]
mod common;

use std::path::Path;

fn main() -> std::io::Result<()> {
    let folder = std::env::args_os().nth(1).expect("usage: seeds FOLDER");
    let folder = Path::new(&folder);
    std::fs::create_dir_all(folder)?;
    let mut files: Vec<_> = common::objects()
        .into_iter()
        .map(|(name, data, _)| (name, data))
        .collect();
    files.push(("module", common::module()));
    files.push(("image", common::image(&common::IMAGE_SITES)));
    for (name, data) in files {
        std::fs::write(folder.join(name), data)?;
    }
    Ok(())
}
