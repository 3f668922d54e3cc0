# SPDX-License-Identifier: GPL-2.0
"""Texts: numbers, names, and mistakes in what is otherwise right."""
import re

from grammar import Choices

NUMBERS = ["0", "1", "2", "3", "5", "7", "8", "10", "16", "31", "32", "33", "63", "64", "65", "100", "128", "0x10", "0X1f", "010", "08",
           "0b1", "+1", "-1", "-0", "1x", "x1", "1.5", "1e3", "255", "256", "4095", "4096", "65535", "65536", "0x", "2147483647",
           "2147483648", "4294967295", "4294967296", "-2147483648", "-2147483649", "9223372036854775807", "9223372036854775808",
           "-9223372036854775808", "18446744073709551615", "18446744073709551616", "99999999999999999999", "-99999999999999999999",
           "0xffffffffffffffff", "0x10000000000000000", "00000000000000000000000000000000000001", "''", "'1'", "'ab'", "\"1\"", "1 2", "",
           "٣"]
SMALL = [number for number in NUMBERS if not re.fullmatch(r"(0x)?[0-9a-fA-F]{6,18}", number)]
LONG = [31, 32, 33, 62, 63, 64, 65, 127, 128, 129, 255, 256, 257, 511, 512, 513, 1023, 1024, 1025, 4095, 4096, 4097]
BLANKS = [" ", "  ", "\t", "\n", "\r", "\v", "\f", "\0", "\xa0", " \t ", "\n\n"]
PUNCTUATION = "():=,.$+-*/ !&|~^\"'\\{}<>[]#@%;_?0aA"


class Texts(Choices):
    """Makes texts."""

    def mostly(self, share, good, odd):
        """One of the good ones, or in so many of a hundred cases an odd one."""
        return self.random.choice(odd if self.chance(share) else good)

    def blank(self):
        """What may stand between two words."""
        return " " if self.chance(90) else self.one(*BLANKS)

    def number(self):
        """A number, or nearly."""
        return self.one(*SMALL)

    def name(self, *good):
        """A name, in a few cases no good one."""
        if self.chance(92):
            return self.one(*good)
        return self.one("", "1a", "a-b", "a.b", "a b", "a/b", "_", "__x", "nosuch", "common_pid", "A", "a*", "*", "é", ".", "..",
                        "x" * self.one(*LONG[:13]))

    def mutated(self, text, share=45):
        """The text, in some cases with one or two mistakes."""
        while text and self.chance(share):
            share //= 2
            text = self.mistake(text)
        return text

    def mistake(self, text):
        """The text with a mistake: in its words, in its numbers or in its letters."""
        words = re.findall(r"\w+|\s+|[^\w\s]", text)
        at = self.random.randrange(len(words))
        kind = self.random.randrange(15)
        if kind <= 1:
            words.pop(at)
        elif kind == 2:
            words.insert(at, words[at])
        elif kind == 3:
            other = self.random.randrange(len(words))
            words[at], words[other] = words[other], words[at]
        elif kind <= 5:
            numbers = [index for index, word in enumerate(words) if word[0].isdigit()]
            if numbers:
                words[self.one(*numbers)] = self.number()
            else:
                words.insert(at, self.number())
        elif kind == 6:
            words.insert(at, self.one(*BLANKS))
        elif kind == 7:
            words.insert(at, self.one(*PUNCTUATION))
        elif kind == 8:
            words[at] = words[at].swapcase()
        elif kind == 9:
            words = words[:at] if self.chance(50) else words[at:]
        elif kind == 10 and self.chance(50):
            words[at] = words[at] * self.one(2, 3, 40) if self.chance(50) else "x" * self.one(*LONG)
        elif kind == 11:
            end = at + self.random.randrange(1, 6)
            words[end:end] = words[at:end]
        elif kind == 12:
            return self.one(" ", "\t", "!", "\n", "-", "\0", "") + text + self.one(" ", "\n", "\t\n", "\0", "\n\n", ";", "#", " #x", "\\", ":")
        elif kind == 13:
            index = self.random.randrange(len(text))
            return text[:index] + text[index + 1:]
        else:
            index = self.random.randrange(len(text))
            return text[:index] + self.one(*PUNCTUATION) + text[index:]
        return "".join(words)
