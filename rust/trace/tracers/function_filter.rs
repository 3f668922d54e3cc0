// SPDX-License-Identifier: GPL-2.0

//! Which functions an instance traces: the ops whose sets `set_ftrace_filter` and
//! `set_ftrace_notrace` edit, and which every tracer of functions in the instance uses.

use crate::trace::ftrace::ops::Ops;
use crate::trace::instance::feature::Feature;
use crate::trace::instance::Instance;
use kernel::prelude::*;
use kernel::sync::Arc;

/// The ops of an instance.
pub(crate) struct FunctionFilter(Arc<Ops>);

impl Feature for FunctionFilter {
    fn new(name: Option<&CStr>) -> Result<Arc<Self>> {
        let ops = match name {
            None => Ops::global().ok_or(ENOMEM)?,
            Some(_) => Ops::without_callback()?,
        };
        Ok(Arc::new(Self(ops), GFP_KERNEL)?)
    }
}

impl FunctionFilter {
    /// That of `instance`. Any context. Errors as [`Instance::feature`].
    pub(crate) fn of(instance: &Instance) -> Result<&Arc<Ops>> {
        Ok(&instance.feature::<Self>()?.0)
    }
}
