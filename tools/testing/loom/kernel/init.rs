// SPDX-License-Identifier: GPL-2.0

//! Initialisers: they make a value, which is then moved to its place.

use crate::error::{Error, Result};
use core::pin::Pin;

/// Makes a `T`.
pub trait PinInit<T, E = Error>: Sized {
    /// Makes it.
    fn make(self) -> Result<T, E>;

    /// The same, and `then` with the value.
    fn pin_chain(self, then: impl FnOnce(Pin<&mut T>) -> Result<(), E>) -> impl PinInit<T, E> {
        move || {
            let mut value = self.make()?;
            // SAFETY: what `then` keeps of the value does not depend on its place.
            then(unsafe { Pin::new_unchecked(&mut value) })?;
            Ok(value)
        }
    }
}

impl<T, E, F: FnOnce() -> Result<T, E>> PinInit<T, E> for F {
    fn make(self) -> Result<T, E> {
        self()
    }
}

/// `Self { field, field: value, field <- initialiser }`.
#[macro_export]
macro_rules! pin_init {
    (Self { $($fields:tt)* }) => { move || $crate::pin_init!(@ [] $($fields)*) };
    (@ [$($done:tt)*] $name:ident <- $init:expr $(, $($rest:tt)*)?) => {
        $crate::pin_init!(@ [$($done)* $name: $crate::init::PinInit::make($init)?,] $($($rest)*)?)
    };
    (@ [$($done:tt)*] $name:ident: $value:expr $(, $($rest:tt)*)?) => {
        $crate::pin_init!(@ [$($done)* $name: $value,] $($($rest)*)?)
    };
    (@ [$($done:tt)*] $name:ident $(, $($rest:tt)*)?) => {
        $crate::pin_init!(@ [$($done)* $name,] $($($rest)*)?)
    };
    (@ [$($done:tt)*]) => { Ok(Self { $($done)* }) };
}
