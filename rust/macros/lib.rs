// SPDX-License-Identifier: GPL-2.0

//! `rtrace-macros`: the derives of rtrace.
//!
//! | derive | generates |
//! | --- | --- |
//! | [`macro@Entry`] | an entry's layout, `format` file, reader and writer from its struct |
//!
//! kbuild makes a library of it for the host's rustc (`Kbuild`). Cargo makes one for the tests on
//! the host. The generated code names `crate::core`, which exists in both.

mod entry;

use proc_macro::TokenStream;
use syn::{parse_macro_input, DeriveInput};

/// Implements `crate::core::format::entry::Entry` for a struct that lists the fields of an entry,
/// without the common fields.
///
/// ```ignore
/// #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Entry)]
/// #[entry(name = "print", tail(buf: [u8] as "char"), print = r#""%ps: %s", (void *)REC->ip, REC->buf"#)]
/// #[repr(C)]
/// pub struct Print {
///     /// Who wrote it.
///     pub ip: usize,
/// }
/// ```
///
/// | attribute | meaning |
/// | --- | --- |
/// | `name = "…"` | the name of the type and of its directory in `events/ftrace` |
/// | `print = "…"` | the text after `print fmt: ` in its `format` file |
/// | `tail(name: [type])` | elements of that type after the fields |
/// | `tail(name: [type; 8])` | the same; the `format` file shows that many elements |
/// | `#[c("u16")]`, on a field | the C type, if it is not the one of [the table](entry) |
///
/// Fields are integers, or arrays of integers with a literal length. Hidden padding is not allowed:
/// padding is a field whose name begins with `_`, and `format` does not show it. The number of the
/// type comes from the table of types (`Number`), so a type without a row is an error.
#[proc_macro_derive(Entry, attributes(entry, c))]
pub fn derive_entry(input: TokenStream) -> TokenStream {
    entry::derive(&parse_macro_input!(input as DeriveInput))
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}
