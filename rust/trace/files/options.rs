// SPDX-License-Identifier: GPL-2.0

//! `trace_options` and the files of `options/`.
//!
//! `trace_options` lists the core options and those of the current tracer. `options/` has a file
//! for each core option and for each option of every tracer. The option of a tracer keeps its value
//! while that tracer is not current.

use super::control::{self, errno, shown, Control, Limit, Text};
use super::Place;
use crate::core::parse::number;
use crate::core::parse::options::{self, Flag, Request, Target, TracerOption, WRITE_MAX};
use crate::kernel::fs::pseudo_fs::{FileType, OpenFlags, Opening};
use crate::kernel::fs::tracefs::Dir;
use crate::trace::instance::{list, tracer};
use core::fmt::Write;
use kernel::{prelude::*, str::CString, sync::Arc};

/// `trace_options`.
pub(super) struct TraceOptions;

impl Control for TraceOptions {
    fn show(&self, at: &Place, out: &mut Text) -> Result {
        let (own, on) = at.instance.tracer_options();
        shown(options::write(out, at.instance.options(), own, on))
    }

    fn store(&self, at: &Place, line: &[u8]) -> Result {
        let request = Request::parse(line).map_err(errno)?;
        let (own, _) = at.instance.tracer_options();
        let target = match request.resolve(own) {
            // As in C: an option of another tracer is ignored if the current tracer has no options.
            Err(_) if own.is_empty() && is_of_some_tracer(request.name) => return Ok(()),
            target => target.map_err(errno)?,
        };
        match target {
            Target::Core(row) => at.instance.set_option(row.flag, request.on),
            Target::Tracer(option) => at.instance.set_tracer_option(option, request.on),
        }
    }

    fn limit(&self) -> Limit {
        Limit::Refuse(WRITE_MAX)
    }

    fn is_listing(&self) -> bool {
        true
    }
}

/// Whether any tracer has an option called `name`.
fn is_of_some_tracer(name: &[u8]) -> bool {
    let mut options = tracer::all().iter().flat_map(|tracer| tracer.options());
    options.any(|option| option.name.as_bytes() == name)
}

/// A file of `options/`.
enum OptionFile {
    Core(Flag),
    Own(usize, &'static TracerOption),
}

impl OptionFile {
    fn is_on(&self, at: &Place) -> bool {
        match *self {
            Self::Core(flag) => at.instance.options().has(flag),
            Self::Own(tracer, option) => at.instance.flags_of(tracer) & option.bit != 0,
        }
    }
}

impl Control for OptionFile {
    fn show(&self, at: &Place, out: &mut Text) -> Result {
        shown(writeln!(out, "{}", u8::from(self.is_on(at))))
    }

    fn store(&self, at: &Place, line: &[u8]) -> Result {
        let on = number::zero_or_one(line).map_err(errno)?;
        match *self {
            Self::Core(flag) => at.instance.set_option(flag, on),
            // A tracer may refuse a change. It is not asked when the value stays the same.
            Self::Own(..) if on == self.is_on(at) => Ok(()),
            Self::Own(tracer, option) => at.instance.set_flag_of(tracer, option, on),
        }
    }

    fn limit(&self) -> Limit {
        Limit::NUMBER
    }
}

/// An [`OptionFile`] together with its place.
struct Placed {
    option: Arc<OptionFile>,
    at: Place,
}

impl FileType for Placed {
    fn open(&self, how: &OpenFlags) -> Result<Opening> {
        let held = list::hold_opened(&self.at.instance)?;
        control::open::<Arc<dyn Control>>(self.option.clone(), &self.at, how)?.keep(held)
    }
}

/// Creates the files in `options/` of an instance. Task context, may sleep. `ENOMEM`, and the
/// errors of [`Dir::create_file`].
pub(super) fn create_all(dir: &Dir, at: &Place) -> Result {
    for row in options::files(at.instance.is_top()) {
        create(dir, at, row.name, OptionFile::Core(row.flag))?;
    }
    for (index, tracer) in tracer::all().iter().enumerate() {
        if !at.instance.is_top() && !tracer.in_instances() {
            continue;
        }
        for option in tracer.options() {
            create(dir, at, option.name, OptionFile::Own(index, option))?;
        }
    }
    Ok(())
}

fn create(dir: &Dir, at: &Place, name: &str, option: OptionFile) -> Result {
    let name = CString::try_from_fmt(fmt!("{name}"))?;
    let option = Arc::new(option, GFP_KERNEL)?;
    dir.create_file(
        &name,
        0o640,
        KBox::new(
            Placed {
                option,
                at: at.clone(),
            },
            GFP_KERNEL,
        )?,
    )
}
