// SPDX-License-Identifier: GPL-2.0

//! Packed words: types of one integer whose bits are named fields.

/// Declares the fields of a packed word. `name: first bit, width;` makes a getter. `name /
/// with_name: first bit, width;` also makes a setter; the field must be 0 before.
macro_rules! fields {
    ($vis:vis $word:ident: $repr:ty {
        $($(#[$doc:meta])* $name:ident $(/ $with:ident)?: $shift:literal, $width:literal;)*
    }) => {
        #[allow(dead_code, reason = "a field is read and filled in, be that needed or not")]
        impl $word {
            $(
                $(#[$doc])*
                #[inline(always)]
                $vis const fn $name(self) -> $repr {
                    (self.0 >> $shift) & ((1 << $width) - 1)
                }

                $(
                    #[doc = concat!("The same with [`", stringify!($name), "`](Self::", stringify!($name), ").")]
                    #[inline(always)]
                    $vis const fn $with(self, value: $repr) -> Self {
                        debug_assert!(self.$name() == 0);
                        Self(self.0 | (value & ((1 << $width) - 1)) << $shift)
                    }
                )?
            )*
        }
    };
}

pub(crate) use fields;

#[cfg(all(test, not(CONFIG_RTRACE)))]
mod tests {
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    struct Word(u32);

    fields!(Word: u32 {
        /// The lowest bits.
        low / with_low: 0, 4;
        /// The highest bits.
        high / with_high: 4, 28;
    });

    #[test]
    fn fields_do_not_touch_each_other() {
        let word = Word(0).with_high(0x0fed_cba9).with_low(0x1f);
        assert_eq!(word, Word(0xfedc_ba9f));
        assert_eq!((word.low(), word.high()), (0xf, 0x0fed_cba9));
        assert_eq!(Word(0).with_low(3).high(), 0);
    }
}
