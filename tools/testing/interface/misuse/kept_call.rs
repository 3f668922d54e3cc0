// SPDX-License-Identifier: GPL-2.0

//! The registers of a hit are gone after the callback: what has them cannot be handed to the return.

use rtrace::{Call, EntryExitCallback, Return};

struct Keeper;

impl EntryExitCallback for Keeper {
    type Data = &'static Call<'static>;

    fn entry(&self, call: &Call<'_>) -> Option<Self::Data> {
        Some(call)
    }

    fn exit(&self, _data: Self::Data, _ret: &Return<'_>) {}
}
