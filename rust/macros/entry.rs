// SPDX-License-Identifier: GPL-2.0

//! The derive of `Entry`: parses a struct into a [`Model`] and generates code from it.

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{
    bracketed, parenthesized, Data, DeriveInput, Error, Expr, ExprLit, Field, Fields, Ident, Lit,
    LitInt, LitStr, Result, Token, Type,
};

/// The size in bytes of the common fields at the start of every entry.
const HEADER: usize = 8;

/// The integer types: name in Rust, size in bytes, whether C's type is signed, name in C. `usize`
/// has the size of a pointer on a 64-bit machine.
#[rustfmt::skip]
const INTEGERS: &[(&str, usize, bool, &str)] = &[
    ("u8", 1, false, "unsigned char"),
    ("u16", 2, false, "unsigned short"),
    ("u32", 4, false, "unsigned int"),
    ("i32", 4, true, "int"),
    ("u64", 8, false, "unsigned long long"),
    ("i64", 8, true, "long long"),
    ("usize", 8, false, "unsigned long"),
];

/// One of [`INTEGERS`].
struct Integer {
    ident: Ident,
    size: usize,
    signed: bool,
    c: &'static str,
}

impl Integer {
    fn of(ident: &Ident) -> Result<Self> {
        let found = INTEGERS.iter().find(|known| ident == known.0);
        let &(_, size, signed, c) =
            found.ok_or_else(|| Error::new(ident.span(), "an entry has integers only"))?;
        Ok(Self {
            ident: ident.clone(),
            size,
            signed,
            c,
        })
    }
}

/// A field of fixed size.
struct Fixed {
    ident: Ident,
    integer: Integer,
    /// The number of elements, for an array.
    len: Option<usize>,
    /// C's type of one element.
    c: String,
    /// The offset in bytes from the start of the entry, common fields included.
    offset: usize,
}

impl Fixed {
    fn size(&self) -> usize {
        self.integer.size * self.len.unwrap_or(1)
    }

    /// Whether the field is padding.
    fn is_padding(&self) -> bool {
        self.ident.to_string().starts_with('_')
    }

    /// Each integer of the field, with its offset and the expression that names it.
    fn integers(&self) -> impl Iterator<Item = (usize, TokenStream)> + '_ {
        let ident = &self.ident;
        (0..self.len.unwrap_or(1)).map(move |i| {
            let index = proc_macro2::Literal::usize_unsuffixed(i);
            let name = match self.len {
                None => quote!(self.#ident),
                Some(_) => quote!(self.#ident[#index]),
            };
            (self.offset + i * self.integer.size, name)
        })
    }
}

/// The part of variable length.
struct Tail {
    ident: Ident,
    integer: Integer,
    /// The number of elements that `format` shows.
    shown: usize,
    c: String,
}

impl Parse for Tail {
    /// Parses `name: [type]` or `name: [type; length]`, with `as "type"` if C has another type.
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let ident = input.parse()?;
        input.parse::<Token![:]>()?;
        let inner;
        bracketed!(inner in input);
        let integer = Integer::of(&inner.parse()?)?;
        let mut shown = 0;
        if inner.parse::<Option<Token![;]>>()?.is_some() {
            shown = inner.parse::<LitInt>()?.base10_parse()?;
        }
        let mut c = integer.c.to_owned();
        if input.parse::<Option<Token![as]>>()?.is_some() {
            c = input.parse::<LitStr>()?.value();
        }
        Ok(Self {
            ident,
            integer,
            shown,
            c,
        })
    }
}

/// One part of `#[entry(…)]`.
enum Part {
    Name(LitStr),
    Print(LitStr),
    Tail(Tail),
}

impl Parse for Part {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let key: Ident = input.parse()?;
        if key == "tail" {
            let inner;
            parenthesized!(inner in input);
            return inner.parse().map(Self::Tail);
        }
        input.parse::<Token![=]>()?;
        match () {
            () if key == "name" => input.parse().map(Self::Name),
            () if key == "print" => input.parse().map(Self::Print),
            () => Err(Error::new(key.span(), "`name`, `print` or `tail`")),
        }
    }
}

/// The description of an entry, parsed from its struct.
struct Model {
    ident: Ident,
    name: LitStr,
    print: LitStr,
    fixed: Vec<Fixed>,
    tail: Option<Tail>,
    /// The bytes before the tail, common fields included.
    size: usize,
}

impl Model {
    fn read(input: &DeriveInput) -> Result<Self> {
        let error = |what: &str| Error::new(input.ident.span(), what);
        if !is_repr_c(input) {
            return Err(error("an entry is `#[repr(C)]`: its layout is ABI"));
        }
        if !input.generics.params.is_empty() {
            return Err(error("an entry has no parameters"));
        }
        let Data::Struct(data) = &input.data else {
            return Err(error("an entry is a struct"));
        };
        let Fields::Named(fields) = &data.fields else {
            return Err(error("an entry's fields have names"));
        };
        let (mut name, mut print, mut tail) = (None, None, None);
        for attribute in input.attrs.iter().filter(|a| a.path().is_ident("entry")) {
            let parts =
                attribute.parse_args_with(Punctuated::<Part, Token![,]>::parse_terminated)?;
            for part in parts {
                match part {
                    Part::Name(text) => name = Some(text),
                    Part::Print(text) => print = Some(text),
                    Part::Tail(what) => tail = Some(what),
                }
            }
        }
        let mut size = HEADER;
        let mut fixed = Vec::new();
        for field in &fields.named {
            let field = read_field(field, size)?;
            size += field.size();
            fixed.push(field);
        }
        if size % 4 != 0 {
            return Err(error("an entry's fields fill 32-bit words"));
        }
        Ok(Self {
            ident: input.ident.clone(),
            name: name.ok_or_else(|| error("`#[entry(name = \"…\")]` is missing"))?,
            print: print.ok_or_else(|| error("`#[entry(print = \"…\")]` is missing"))?,
            fixed,
            tail,
            size,
        })
    }

    /// The `Field`s for the `format` file.
    fn fields(&self) -> impl Iterator<Item = TokenStream> + '_ {
        let fixed = self.fixed.iter().filter(|f| !f.is_padding()).map(|f| {
            let len = f.len.map_or(quote!(None), |len| quote!(Some(#len)));
            field(&f.c, &f.ident, f.offset, f.size(), f.integer.signed, &len)
        });
        let tail = self.tail.iter().map(|t| {
            let shown = t.shown;
            let size = t.integer.size * shown;
            field(
                &t.c,
                &t.ident,
                self.size,
                size,
                t.integer.signed,
                &quote!(Some(#shown)),
            )
        });
        fixed.chain(tail)
    }

    /// The type of the entry's words, and an expression for their values.
    fn words(&self) -> (TokenStream, TokenStream) {
        let mut words = vec![Vec::new(); self.size.div_ceil(8)];
        words[0].push(quote!(header));
        for (offset, name) in self.fixed.iter().flat_map(Fixed::integers) {
            let shift = (offset % 8 * 8) as u32;
            words[offset / 8].push(match shift {
                0 => quote!(#name.to_word()),
                _ => quote!(#name.to_word() << #shift),
            });
        }
        let mut words: Vec<_> = words.iter().map(|parts| quote!(#(#parts)|*)).collect();
        let whole = self.size / 8;
        if self.size % 8 == 0 {
            return (quote!([u64; #whole]), quote!([#(#words),*]));
        }
        let half = words.pop();
        // If the entry has only half of the last word, the other half is 0.
        (
            quote!(([u64; #whole], u32)),
            quote!(([#(#words),*], (#half) as u32)),
        )
    }

    /// The field initialisers of a struct that is read from `bytes`, an array of the entry's size.
    fn read_fields(&self) -> impl Iterator<Item = TokenStream> + '_ {
        self.fixed.iter().map(|f| {
            let (ident, ty, size) = (&f.ident, &f.integer.ident, f.integer.size);
            let element = |i: usize| {
                let start = f.offset + i * size;
                let at = (start..start + size).map(proc_macro2::Literal::usize_unsuffixed);
                quote!(#ty::from_ne_bytes([#(bytes[#at]),*]))
            };
            match f.len {
                None => {
                    let value = element(0);
                    quote!(#ident: #value)
                }
                Some(len) => {
                    let values = (0..len).map(element);
                    quote!(#ident: [#(#values),*])
                }
            }
        })
    }

    /// Assertions about the layout that rustc gives the struct.
    fn layout(&self) -> impl Iterator<Item = TokenStream> + '_ {
        let ident = &self.ident;
        let offsets = self.fixed.iter().map(move |f| {
            let (name, offset) = (&f.ident, f.offset - HEADER);
            quote!(::core::mem::offset_of!(#ident, #name) == #offset)
        });
        let size = self.size - HEADER;
        offsets.chain(std::iter::once(
            quote!(::core::mem::size_of::<#ident>() == #size),
        ))
    }
}

/// Whether the struct has C's layout.
fn is_repr_c(input: &DeriveInput) -> bool {
    let mut found = false;
    for attribute in input.attrs.iter().filter(|a| a.path().is_ident("repr")) {
        // rustc itself reports an attribute that is not a list.
        let _ = attribute.parse_nested_meta(|meta| {
            found |= meta.path.is_ident("C");
            Ok(())
        });
    }
    found
}

/// Parses a field that begins at `offset`.
fn read_field(field: &Field, offset: usize) -> Result<Fixed> {
    let (element, len) = match &field.ty {
        Type::Array(array) => match &array.len {
            Expr::Lit(ExprLit {
                lit: Lit::Int(len), ..
            }) => (&*array.elem, Some(len.base10_parse()?)),
            len => return Err(Error::new(len.span(), "a literal length")),
        },
        ty => (ty, None),
    };
    let Type::Path(path) = element else {
        return Err(Error::new(element.span(), "an entry has integers only"));
    };
    let integer = Integer::of(path.path.require_ident()?)?;
    let mut c = integer.c.to_owned();
    for attribute in field.attrs.iter().filter(|a| a.path().is_ident("c")) {
        c = attribute.parse_args::<LitStr>()?.value();
    }
    let ident = field.ident.clone();
    let ident = ident.ok_or_else(|| Error::new(Span::call_site(), "a field without a name"))?;
    if offset % integer.size != 0 {
        let what = format!(
            "begins at byte {offset}: put fields whose names begin with `_` where padding is"
        );
        return Err(Error::new(ident.span(), what));
    }
    Ok(Fixed {
        ident,
        integer,
        len,
        c,
        offset,
    })
}

/// The tokens of a `Field`.
fn field(
    c: &str,
    ident: &Ident,
    offset: usize,
    size: usize,
    signed: bool,
    len: &TokenStream,
) -> TokenStream {
    let name = ident.to_string();
    quote!(Field {
        ctype: #c,
        name: #name,
        offset: #offset,
        size: #size,
        signed: #signed,
        len: #len,
    })
}

/// The implementation for a struct.
pub(crate) fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let model = Model::read(input)?;
    let (ident, name, print, size) = (&model.ident, &model.name, &model.print, model.size);
    let (fields, read, layout) = (model.fields(), model.read_fields(), model.layout());
    let (words, value) = model.words();
    Ok(quote! {
        const _: () = {
            use crate::core::format::entry::{Entry, Field, Number, Truncated};
            use crate::core::format::entry::ToWord as _;

            #(assert!(#layout, "rustc lays an entry out otherwise than it was described");)*

            impl Entry for #ident {
                type Words = #words;

                const ID: u16 = <Self as Number>::NUMBER;
                const NAME: &'static str = #name;
                const SIZE: usize = #size;
                const FIELDS: &'static [Field] = &[#(#fields),*];
                const PRINT: &'static str = #print;

                fn parse(record: &[u8]) -> Result<Self, Truncated> {
                    let bytes = record.first_chunk::<#size>().ok_or(Truncated)?;
                    Ok(Self { #(#read),* })
                }

                #[inline(always)]
                fn words(self, header: u64) -> Self::Words {
                    #value
                }
            }
        };
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The error message for a struct of `fields`, with `before` in front of the struct.
    fn refused(before: &str, fields: &str) -> String {
        let source = format!("{before} struct S {{ {fields} }}");
        let input = syn::parse_str(&source).unwrap();
        derive(&input).expect_err(&source).to_string()
    }

    const GOOD: &str = "#[repr(C)] #[entry(name = \"s\", print = \"\")]";

    fn model(before: &str, fields: &str) -> Model {
        let source = format!("{before} struct S {{ {fields} }}");
        Model::read(&syn::parse_str(&source).unwrap()).unwrap()
    }

    #[test]
    fn what_is_no_entry_is_refused() {
        let name = "#[repr(C)] #[entry(print = \"\")]";
        assert!(refused("#[entry(name = \"s\", print = \"\")]", "a: u64").contains("repr(C)"));
        assert!(refused("#[repr(packed)] #[entry(name = \"s\")]", "a: u64").contains("repr(C)"));
        assert!(refused(name, "a: u64").contains("name"));
        assert!(refused("#[repr(C)] #[entry(name = \"s\")]", "a: u64").contains("print"));
        assert!(refused(GOOD, "a: f32").contains("integers"));
        assert!(refused(GOOD, "a: &'static str").contains("integers"));
        assert!(refused(GOOD, "a: [u8; N]").contains("literal"));
        assert!(refused(GOOD, "a: u32, b: u64").contains("byte 12"));
        assert!(refused(GOOD, "a: u16").contains("32-bit words"));
        assert!(refused("#[repr(C)] #[entry(size = 8)]", "a: u64").contains("tail"));
    }

    #[test]
    fn layouts() {
        let fields = "a: u16, _pad: u16, b: u32, c: [usize; 2], d: i32";
        let tail = "#[repr(C)] #[entry(name = \"s\", print = \"\", tail(t: [u8; 3] as \"char\"))]";
        let model = model(tail, fields);
        let offsets: Vec<_> = model.fixed.iter().map(|f| f.offset).collect();
        assert_eq!((offsets, model.size), (vec![8, 10, 12, 16, 32], 36));
        // Padding is a field of the struct, but not of the format.
        assert_eq!(model.fields().count(), 5);
        let (ty, _) = model.words();
        assert_eq!(ty.to_string(), quote!(([u64; 4usize], u32)).to_string());
        let tail = model.tail.unwrap();
        assert_eq!((tail.shown, tail.c.as_str()), (3, "char"));
    }
}
