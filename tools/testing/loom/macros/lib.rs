// SPDX-License-Identifier: GPL-2.0

//! `#[pin_data]` for the host, where values are moved into their places.

use proc_macro::{Delimiter, Group, TokenStream, TokenTree};

/// The structure without its `#[pin]`.
#[proc_macro_attribute]
pub fn pin_data(_: TokenStream, item: TokenStream) -> TokenStream {
    without_pin(item)
}

fn without_pin(tokens: TokenStream) -> TokenStream {
    let mut out: Vec<TokenTree> = Vec::new();
    for token in tokens {
        let TokenTree::Group(group) = token else {
            out.push(token);
            continue;
        };
        let is_pin = group.delimiter() == Delimiter::Bracket && group.stream().to_string() == "pin";
        if is_pin {
            out.pop();
        } else {
            let stream = without_pin(group.stream());
            out.push(Group::new(group.delimiter(), stream).into());
        }
    }
    out.into_iter().collect()
}
