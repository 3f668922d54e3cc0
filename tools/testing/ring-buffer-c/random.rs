// SPDX-License-Identifier: GPL-2.0

//! Numbers that look random, the same ones for the same seed.

pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `end`. (xorshift64*)
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) % end
    }

    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// How long it is until the next event: often short, sometimes at the border of what a delta holds.
    pub fn pause(&mut self) -> u64 {
        const DELTA_END: u64 = 1 << 27;
        match self.below(12) {
            0 | 1 => DELTA_END - 1 + self.below(3),
            2 => self.below(8 * DELTA_END),
            3 => 0,
            _ => self.below(100),
        }
    }

    /// A length of an event: often short, sometimes at the border of what a header or a sub-buffer of
    /// `size` bytes holds, and at times too long.
    pub fn length(&mut self, size: u32) -> usize {
        let longest = u64::from(size) - 24;
        let length = match self.below(20) {
            0 => longest + 1 - self.below(3),
            1 => longest - 8 - self.below(2),
            2 => longest - self.below(30),
            3 | 4 => 105 + self.below(20),
            5 => self.below(longest),
            _ => self.below(40),
        };
        length as usize
    }
}
