# SPDX-License-Identifier: GPL-2.0
"""Choices of a grammar that makes texts: the same seed gives the same texts."""
import random


class Choices:
    """What definitions.py and operations.py choose with."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def chance(self, share):
        """True in so many of a hundred cases."""
        return self.random.randrange(100) < share

    def one(self, *items):
        """Any of them."""
        return self.random.choice(items)
