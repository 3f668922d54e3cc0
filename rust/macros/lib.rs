// SPDX-License-Identifier: GPL-2.0

//! `rtrace-macros`: the derives of rtrace.
//!
//! | derive | yields |
//! | --- | --- |
//! | [`macro@Entry`] | an entry's layout, `format` file, reader and writer from its struct |
//!
//! kbuild makes a library for the host's rustc of it (`Kbuild`), Cargo does for the tests on the
//! host. What the derives yield names `crate::core`, which both have.

mod entry;

use proc_macro::TokenStream;
use syn::{parse_macro_input, DeriveInput};

/// Implements `crate::core::format::entry::Entry` for a struct that lists an entry's own fields,
/// those after the header that all entries begin with.
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
/// | attribute | says |
/// | --- | --- |
/// | `name = "…"` | the type's name, that of its directory in `events/ftrace` |
/// | `print = "…"` | what stands after `print fmt: ` in its `format` file |
/// | `tail(name: [type])` | what follows the fields, if anything does: elements of that type |
/// | `tail(name: [type; 8])` | the same, where the `format` file advertises that many elements |
/// | `#[c("u16")]`, on a field | the C type, where it is not the one that [the table](entry) has |
///
/// Fields are integers, or arrays of them of a literal length. There is no hidden padding: a struct
/// that needs some has fields for it whose names begin with `_`; `format` does not show these. The
/// type's number comes from the table of types (`Number`), so it is an error to have no row there.
#[proc_macro_derive(Entry, attributes(entry, c))]
pub fn derive_entry(input: TokenStream) -> TokenStream {
    entry::derive(&parse_macro_input!(input as DeriveInput))
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}
