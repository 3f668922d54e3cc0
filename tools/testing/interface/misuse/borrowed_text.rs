// SPDX-License-Identifier: GPL-2.0

//! A field is a number or a text of its own: one that lies elsewhere is refused.

rtrace::synthetic_event! {
    /// Somebody bought fruit.
    struct Sale = "fruit_sale" {
        fruit: &'static str,
        cents: i64,
    }
}
