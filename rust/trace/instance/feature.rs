// SPDX-License-Identifier: GPL-2.0

//! Features of instances: what a part of tracing keeps for each instance, and what it does as the
//! instance comes, changes and goes.
//!
//! A feature is a type that implements [`Feature`]; every instance has one value of it. `boot.rs`
//! lists the features there are ([`Registry::features`]), in the order in which their hooks are
//! called. The instance names none of them:
//!
//! - its state is a value of that type, which [`Instance::feature`] looks up by the type;
//! - the options that it acts on are a table ([`Feature::options`]);
//! - the rest are hooks that do nothing unless the feature says otherwise.
//!
//! To add a feature: implement the trait beside its code, and add a row to `FEATURES` in `boot.rs`,
//! or in `boot/ftrace.rs` if it needs patch sites. One that keeps nothing for an instance is a type
//! without fields.
//!
//! Looking a feature up takes no lock and compares types one by one: cheap enough for files and
//! tracers' starts, too dear for each entry. What records keeps a reference or an `Arc` instead.

use super::tracer::Tracer;
use super::Instance;
use crate::core::parse::options::{Flag, TracerOption};
use crate::kernel::fs::tracefs::Dir;
use core::any::Any;
use kernel::prelude::*;
use kernel::sync::{Arc, SetOnce};

/// What a core option does: the flag, and the function that is called with the new value before the
/// option has it. The function runs with the state mutex held, in task context, and may sleep. If it
/// fails, the option stays as it was.
pub(crate) type OptionEffect = (Flag, fn(&Arc<Instance>, bool) -> Result);

/// What a part of tracing keeps for one instance.
///
/// Hooks run in task context and may sleep. Where not said otherwise the state mutex is not held.
pub(crate) trait Feature: AsAny + Send + Sync {
    /// What it keeps for an instance called `name` that is about to be made; the top one has no
    /// name. Boot or task context, may sleep. `ENOMEM`.
    fn new(name: Option<&CStr>) -> Result<Arc<Self>>
    where
        Self: Sized;

    /// The core options that it acts on.
    fn options(&self) -> &'static [OptionEffect] {
        &[]
    }

    /// The instance is complete and in the list, and has no directory yet.
    ///
    /// # Errors
    ///
    /// Any; the instance is then not made, and [retires](Feature::retire).
    fn created(&self, _instance: &Arc<Instance>) -> Result {
        Ok(())
    }

    /// The directory of the instance was made; the feature adds what is its own there.
    ///
    /// # Errors
    ///
    /// Any; the directory is then removed, and the instance with it.
    fn directory_made(&self, _instance: &Arc<Instance>, _directory: &Dir) -> Result {
        Ok(())
    }

    /// Core option `flag` was changed, and [`Instance::options`] has it.
    fn option_changed(&self, _instance: &Arc<Instance>, _flag: Flag) {}

    /// `tracing_on` was switched. The state mutex is held.
    fn switched(&self, _instance: &Instance, _on: bool) {}

    /// A tracer is about to start. The state mutex is held.
    ///
    /// # Errors
    ///
    /// Any; the tracer does not start, and [`Feature::tracer_ended`] is called.
    fn tracer_starts(&self, _instance: &Arc<Instance>) -> Result {
        Ok(())
    }

    /// The tracer has ended, or did not start. The state mutex is held.
    fn tracer_ended(&self, _instance: &Instance) {}

    /// `option` of a tracer, current or not, was set.
    ///
    /// # Errors
    ///
    /// Any; the writer is told, and the option stays as it was set.
    fn tracer_option(&self, _instance: &Instance, _option: &TracerOption, _on: bool) -> Result {
        Ok(())
    }

    /// The instance is about to be removed. What must keep it from that for longer
    /// [holds](Instance::hold) it.
    ///
    /// # Errors
    ///
    /// `EBUSY` keeps it.
    fn may_go(&self, _instance: &Instance) -> Result {
        Ok(())
    }

    /// The instance goes, and its tracer has ended. References to the instance that the feature
    /// keeps are given up here.
    fn retire(&self, _instance: &Arc<Instance>) {}
}

/// A type that can be told from others while it is used through a trait.
pub(crate) trait AsAny: Any {
    /// This as a value of any type.
    fn as_any(&self) -> &dyn Any;
}

impl<T: Any> AsAny for T {
    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Makes a feature's value for a new instance: [`make`] of its type.
pub(crate) type MakeFeature = fn(Option<&CStr>) -> Result<Arc<dyn Feature>>;

/// The row of feature `T` in [`Registry::features`].
pub(crate) fn make<T: Feature>(name: Option<&CStr>) -> Result<Arc<dyn Feature>> {
    Ok(T::new(name)?)
}

/// What the rooms above give to instances.
pub(crate) struct Registry {
    /// The features there are, table by table.
    pub(crate) features: &'static [&'static [MakeFeature]],
    /// The tracers there are, in the order of `available_tracers`. The last one records nothing:
    /// every instance starts with it and passes through it from one tracer to the next.
    pub(crate) tracers: &'static [&'static dyn Tracer],
}

static REGISTRY: SetOnce<Registry> = SetOnce::new();

/// Says what there is. Once, before the first instance is made.
pub(crate) fn register(registry: Registry) {
    REGISTRY.populate(registry);
}

/// The tracers there are. Any context.
pub(super) fn tracers() -> &'static [&'static dyn Tracer] {
    REGISTRY.as_ref().map_or(&[], |registry| registry.tracers)
}

/// The features of one instance.
pub(super) struct Features(KVec<Arc<dyn Feature>>);

impl Features {
    /// Those of a new instance. May sleep. `ENOMEM`, and what a feature says.
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

    /// All of them, in the order of the table.
    pub(super) fn iter(&self) -> impl Iterator<Item = &dyn Feature> {
        self.0.iter().map(|feature| &**feature)
    }
}

impl Instance {
    /// What feature `T` keeps for this instance. Any context; see the head of this module for the
    /// cost.
    ///
    /// # Errors
    ///
    /// `ENODEV` for a type that is not in the table of features.
    pub(crate) fn feature<T: Feature>(&self) -> Result<&T> {
        self.features
            .iter()
            .find_map(|feature| feature.as_any().downcast_ref())
            .ok_or(ENODEV)
    }
}
