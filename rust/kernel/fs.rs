// SPDX-License-Identifier: GPL-2.0

//! File systems whose files are made by code: nodes and files, sequential files, files of pages,
//! tracefs.

pub(crate) mod lockdown;
pub(crate) mod page_file;
pub(crate) mod pseudo_fs;
pub(crate) mod seq_file;
pub(crate) mod tracefs;
#[cfg(all(CONFIG_FSNOTIFY, CONFIG_TRACER_MAX_TRACE))]
pub(crate) mod watched;
