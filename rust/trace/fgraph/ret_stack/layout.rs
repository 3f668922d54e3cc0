// SPDX-License-Identifier: GPL-2.0

//! What the words of a shadow stack are.

use crate::core::bits::fields;

/// Words of a shadow stack: as deep as that of C, whose frames of several users are a word shorter.
pub(super) const WORDS: usize = 640;
/// Words at its end that are not for frames.
pub(super) const VARS: usize = 2 * MAX_USERS;
/// So many users there can be at a time.
pub(crate) const MAX_USERS: usize = 16;
/// Words of a frame.
pub(super) const FRAME: usize = 5;
/// A frame can begin here at most.
pub(super) const LAST: usize = WORDS - VARS - FRAME;

/// What a task without a stack uses: more than one has, so that there is room for nothing.
pub(super) const NO_STACK: i32 = WORDS as i32;

pub(super) const RETP: usize = 0;
pub(super) const RET: usize = 1;
pub(super) const FUNC: usize = 2;
pub(super) const DATA: usize = 3;
pub(super) const TOP: usize = 4;

pub(super) type Words = [u64; WORDS];

/// The last word of a frame or of data.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Top(pub(crate) u64);

fields!(pub(crate) Top: u64 {
    /// [`Self::IS_FRAME`], [`Self::IS_DATA`], or 0 for neither.
    kind / with_kind: 0, 2;
    /// Whose data it is.
    user / with_user: 2, 4;
    /// What users call a frame's kind by, or how many words of data there are.
    number / with_number: 8, 56;
});

impl Top {
    const IS_FRAME: u64 = 1;
    const IS_DATA: u64 = 2;

    /// The end of a frame of the kind that users call by a number; below 2^56.
    pub(crate) const fn frame(kind: u64) -> Self {
        Self(0).with_kind(Self::IS_FRAME).with_number(kind)
    }

    pub(super) const fn data(user: usize, words: usize) -> Self {
        let data = Self(0).with_kind(Self::IS_DATA);
        data.with_user(user as u64).with_number(words as u64)
    }

    pub(crate) const fn is_frame(self) -> bool {
        self.kind() == Self::IS_FRAME
    }

    /// User and number of words, for data.
    pub(super) const fn as_data(self) -> Option<(usize, usize)> {
        if self.kind() == Self::IS_DATA {
            Some((self.user() as usize, self.number() as usize))
        } else {
            None
        }
    }
}

/// A traced function that has not returned.
#[derive(Clone, Copy)]
pub(crate) struct Frame {
    /// Where its return address was on the stack.
    pub(crate) retp: usize,
    /// Where it returns to.
    pub(crate) ret: usize,
    /// Its patch site, or what its kind of frame has instead.
    pub(crate) func: usize,
    /// What its kind of frame needs.
    pub(crate) data: u64,
    /// Its kind.
    pub(crate) top: Top,
}
