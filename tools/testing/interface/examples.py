#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The examples of the interface for Rust code as a module of KUnit tests: `examples.py FILE...` prints its source."""
import os
import re
import sys

HEAD = """// SPDX-License-Identifier: GPL-2.0

//! The examples of the interface for Rust code. Made by examples.py.

use kernel::prelude::*;

module! {
    type: Examples,
    name: "rtrace_examples",
    authors: ["The rtrace authors"],
    description: "Examples of the interface for Rust code",
    license: "GPL",
}

struct Examples;

impl kernel::Module for Examples {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        Ok(Self)
    }
}

#[kunit_tests(rtrace_examples)]
#[allow(dead_code, clippy::disallowed_macros)]
mod examples {
"""


def examples(path):
    """The examples in a file, with the lines that the documentation hides."""
    with open(path, encoding="utf-8") as file:
        comments = re.findall(r"^/// ```\n((?:///.*\n)*?)/// ```$", file.read(), re.M)
    for comment in comments:
        yield re.sub(r"^///( # | #$| |$)", "", comment, flags=re.M)


def main():
    print(HEAD, end="")
    for path in sorted(sys.argv[1:]):
        name = os.path.basename(path)[:-3]
        for number, text in enumerate(examples(path), 1):
            ends = "" if re.search(r"^Ok::<\(\), Error>\(\(\)\)$", text, re.M) else "        Ok(())\n"
            body = "".join(f"        {line}\n" if line else "\n" for line in text.splitlines())
            print(f"    #[test]\n    fn {name}_{number}() -> kernel::error::Result {{\n{body}{ends}    }}\n")
    print("}")


if __name__ == "__main__":
    main()
