// SPDX-License-Identifier: GPL-2.0

//! A call need not return, and then its data are not dropped: those that own memory are refused.

use kernel::prelude::*;
use rtrace::{Call, EntryExitCallback, Return};

struct Keeper;

impl EntryExitCallback for Keeper {
    type Data = KBox<u64>;

    fn entry(&self, _call: &Call<'_>) -> Option<KBox<u64>> {
        KBox::new(rtrace::now(), GFP_ATOMIC).ok()
    }

    fn exit(&self, _data: KBox<u64>, _ret: &Return<'_>) {}
}
