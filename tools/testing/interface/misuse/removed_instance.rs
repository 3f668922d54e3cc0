// SPDX-License-Identifier: GPL-2.0

//! An instance that was removed is gone.

use kernel::prelude::*;
use rtrace::instance::Instance;

/// Writes after the end.
pub fn late(instance: Instance) -> Result {
    instance.remove()?;
    instance.print(format_args!("still there?"))
}
