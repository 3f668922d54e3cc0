// SPDX-License-Identifier: GPL-2.0

//! What instances and stacks ask of patch sites where the kernel has none
//! (`CONFIG_FUNCTION_TRACER=n`, as on User Mode Linux): ops that nothing hits, no commands, no
//! trampolines. The files and tracers that need sites do not exist there.

/// In place of `ftrace.rs`.
pub(crate) mod ftrace {
    /// In place of `ops.rs`.
    pub(crate) mod ops {
        use crate::trace::tasks::stack::{Has, Trampolines};
        use kernel::prelude::*;
        use kernel::sync::Arc;

        /// The ops of an instance.
        pub(crate) struct Ops;

        impl Ops {
            /// The ops of the top instance.
            pub(crate) fn global() -> Option<Arc<Self>> {
                None
            }

            /// The ops of another instance. `ENOMEM`.
            pub(crate) fn without_callback() -> Result<Arc<Self>> {
                Ok(Arc::new(Self, GFP_KERNEL)?)
            }
        }

        impl Has for Trampolines {
            fn has(_addr: usize) -> bool {
                false
            }
        }
    }
}

/// In place of `fgraph.rs`.
pub(crate) mod fgraph {
    pub(crate) mod recorder {
        /// What an instance has of function_graph.
        pub(crate) struct GraphRecorder;

        impl GraphRecorder {
            /// Nothing.
            pub(crate) fn new() -> Self {
                Self
            }
        }
    }
}

/// In place of `commands.rs`.
pub(crate) mod commands {
    /// The function commands of an instance.
    pub(crate) struct Probes;

    impl Probes {
        /// None.
        pub(crate) fn new() -> Self {
            Self
        }

        /// Takes all of them away.
        pub(crate) fn clear(&self) {}
    }
}
