// SPDX-License-Identifier: GPL-2.0

//! Features of instances: the state that a part of tracing keeps for each instance, and its hooks
//! for the life of the instance.
//!
//! A feature is a type that implements [`Feature`]. Every instance has one value of it. `boot.rs`
//! lists all features ([`Registry::features`]); their hooks are called in this order. The instance
//! does not know the features by name:
//!
//! - Its state is a value of its type. [`Instance::feature`] finds it by the type.
//! - Its options are a table ([`Feature::options`]).
//! - Everything else is a hook. By default a hook does nothing.
//!
//! To add a feature: implement the trait next to its code, and add a row to `FEATURES` in
//! `boot.rs`, or in `boot/ftrace.rs` if it needs patch sites. A feature without state is a type
//! without fields.
//!
//! [`Instance::feature`] takes no lock and compares types one by one. This is cheap enough for
//! files and for the start of a tracer, but too slow for each event. The recording path keeps a
//! reference or an `Arc` instead.

use super::tracer::Tracer;
use super::Instance;
use crate::core::parse::options::{Flag, TracerOption};
use crate::kernel::fs::tracefs::Dir;
use core::any::Any;
use kernel::prelude::*;
use kernel::sync::{Arc, SetOnce};

/// The effect of a core option: the flag, and a function that is called with the new value before
/// the option changes. The function runs in task context with the state mutex held, and may sleep.
/// If it fails, the option does not change.
pub(crate) type OptionEffect = (Flag, fn(&Arc<Instance>, bool) -> Result);

/// The state of a part of tracing for one instance, and its hooks.
///
/// Hooks run in task context and may sleep. The state mutex is not held, unless the hook says so.
pub(crate) trait Feature: AsAny + Send + Sync {
    /// Makes the state for a new instance called `name`; the top instance has no name. Boot or task
    /// context, may sleep. `ENOMEM`.
    fn new(name: Option<&CStr>) -> Result<Arc<Self>>
    where
        Self: Sized;

    /// The core options that the feature handles.
    fn options(&self) -> &'static [OptionEffect] {
        &[]
    }

    /// The instance is complete and in the list. It has no directory yet.
    ///
    /// # Errors
    ///
    /// Any error removes the instance, after [`Feature::retire`].
    fn created(&self, _instance: &Arc<Instance>) -> Result {
        Ok(())
    }

    /// The directory of the instance exists. The feature adds its files.
    ///
    /// # Errors
    ///
    /// Any error removes the directory and the instance.
    fn directory_made(&self, _instance: &Arc<Instance>, _directory: &Dir) -> Result {
        Ok(())
    }

    /// Core option `flag` has changed. [`Instance::options`] has the new value.
    fn option_changed(&self, _instance: &Arc<Instance>, _flag: Flag) {}

    /// `tracing_on` has changed to `on`. The state mutex is held.
    fn switched(&self, _instance: &Instance, _on: bool) {}

    /// A tracer is about to start. The state mutex is held.
    ///
    /// # Errors
    ///
    /// Any error prevents the start. [`Feature::tracer_ended`] is called then.
    fn tracer_starts(&self, _instance: &Arc<Instance>) -> Result {
        Ok(())
    }

    /// The tracer has ended, or could not start. The state mutex is held.
    fn tracer_ended(&self, _instance: &Instance) {}

    /// An option of a tracer was set; the tracer need not be current. The state mutex is held.
    ///
    /// # Errors
    ///
    /// The writer gets the error, and the option is as before.
    fn tracer_option(&self, _instance: &Instance, _option: &TracerOption, _on: bool) -> Result {
        Ok(())
    }

    /// The instance is about to be removed. A feature that must block the removal for longer
    /// [holds](Instance::hold) the instance.
    ///
    /// # Errors
    ///
    /// `EBUSY` blocks the removal.
    fn may_go(&self, _instance: &Instance) -> Result {
        Ok(())
    }

    /// The instance is being removed, and its tracer has ended. The feature drops its references to
    /// the instance here.
    fn retire(&self, _instance: &Arc<Instance>) {}
}

/// A value behind a trait object whose concrete type can be asked for.
pub(crate) trait AsAny: Any {
    /// Itself as a value of any type.
    fn as_any(&self) -> &dyn Any;
}

impl<T: Any> AsAny for T {
    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Makes the value of a feature for a new instance: [`make`] of its type.
pub(crate) type MakeFeature = fn(Option<&CStr>) -> Result<Arc<dyn Feature>>;

/// The row of feature `T` in [`Registry::features`].
pub(crate) fn make<T: Feature>(name: Option<&CStr>) -> Result<Arc<dyn Feature>> {
    Ok(T::new(name)?)
}

/// The tables that the rooms above register.
pub(crate) struct Registry {
    /// The features, table by table.
    pub(crate) features: &'static [&'static [MakeFeature]],
    /// The tracers, in the order of `available_tracers`. The last one is `nop`: every instance
    /// starts with it, and it is current between two other tracers.
    pub(crate) tracers: &'static [&'static dyn Tracer],
}

static REGISTRY: SetOnce<Registry> = SetOnce::new();

/// Registers the tables. Once, before the first instance is made.
pub(crate) fn register(registry: Registry) {
    REGISTRY.populate(registry);
}

/// All tracers. Any context.
pub(super) fn tracers() -> &'static [&'static dyn Tracer] {
    REGISTRY.as_ref().map_or(&[], |registry| registry.tracers)
}

/// The features of one instance.
pub(super) struct Features(KVec<Arc<dyn Feature>>);

impl Features {
    /// Makes the features of a new instance. Task context, may sleep. `ENOMEM`, and the errors of a
    /// feature.
    pub(super) fn new(name: Option<&CStr>) -> Result<Self> {
        let rows = REGISTRY
            .as_ref()
            .map_or(&[][..], |registry| registry.features);
        let mut features = KVec::new();
        for make in rows.iter().copied().flatten() {
            features.push(make(name)?, GFP_KERNEL)?;
        }
        Ok(Self(features))
    }

    /// All features, in the order of the table.
    pub(super) fn iter(&self) -> impl Iterator<Item = &dyn Feature> {
        self.0.iter().map(|feature| &**feature)
    }
}

impl Instance {
    /// The state of feature `T` for this instance. Any context. The head of this module says what
    /// it costs.
    ///
    /// # Errors
    ///
    /// `ENODEV` for a type that is not in the table of features.
    #[inline]
    pub(crate) fn feature<T: Feature>(&self) -> Result<&T> {
        self.features
            .iter()
            .find_map(|feature| feature.as_any().downcast_ref())
            .ok_or(ENODEV)
    }
}
