#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Write what must be refused to every control file: the errno is C's, and the file reads as before.

One row a write: file, bytes, the errno's name. The rows were taken from the C kernel; KERNEL=c runs them there.
"""
import errno
import os
import sys

NON_UTF8 = b"\xff\xfe\x80"
NOT_A_NUMBER = [b"x\n", b"-1\n", b"\n", b"1 2\n", NON_UTF8, b"0x\n", b"9" * 100]
UNREADABLE = {"trace_marker", "trace_marker_raw", "free_buffer"}

ROWS = [
    ("current_tracer", b"bogus\n", "EINVAL"),
    ("current_tracer", b"\n", "EINVAL"),
    ("current_tracer", NON_UTF8, "EINVAL"),
    ("current_tracer", b"function graph\n", "EINVAL"),
    ("current_tracer", b"n" * 200, "EINVAL"),
    ("trace_clock", b"bogus\n", "EINVAL"),
    ("trace_clock", b"\n", "EINVAL"),
    ("trace_clock", b"l" * 200, "EINVAL"),
    ("trace_clock", NON_UTF8, "EINVAL"),
    ("trace_options", b"bogus\n", "EINVAL"),
    ("trace_options", b"nobogus\n", "EINVAL"),
    ("trace_options", b"annotate raw\n", "EINVAL"),
    ("trace_options", b"test_nop_refuse\n", "EINVAL"),
    ("trace_options", b"a" * 100, "EINVAL"),
    ("trace_options", NON_UTF8, "EINVAL"),
    ("options/annotate", b"2\n", "EINVAL"),
    ("options/annotate", b"x\n", "EINVAL"),
    ("options/annotate", b"-1\n", "EINVAL"),
    ("options/annotate", b"99999999999999999999999\n", "ERANGE"),
    ("options/func_stack_trace", b"2\n", "EINVAL"),
    ("buffer_size_kb", b"0\n", "EINVAL"),
    ("buffer_size_kb", b"99999999999999999999999\n", "ERANGE"),
    ("per_cpu/cpu0/buffer_size_kb", b"0\n", "EINVAL"),
    ("per_cpu/cpu0/buffer_size_kb", b"x\n", "EINVAL"),
    ("tracing_on", b"99999999999999999999999\n", "ERANGE"),
    ("tracing_cpumask", b"x\n", "EINVAL"),
    ("tracing_cpumask", b"ffffffff,ffffffff,ffffffff,ffffffff\n", "EOVERFLOW"),
    ("tracing_cpumask", NON_UTF8, "EINVAL"),
    ("saved_cmdlines_size", b"0\n", "EINVAL"),
    ("saved_cmdlines_size", b"99999999\n", "EINVAL"),
    ("saved_cmdlines_size", b"x\n", "EINVAL"),
    ("set_ftrace_filter", b"no_such_function_at_all\n", "EINVAL"),
    ("set_ftrace_filter", b"!no_such_function_at_all\n", "EINVAL"),
    ("set_ftrace_filter", b"0\n", "EINVAL"),
    ("set_ftrace_filter", b"-1\n", "EINVAL"),
    ("set_ftrace_filter", b"99999999\n", "EINVAL"),
    ("set_ftrace_filter", b"vfs_read:bogus_command\n", "EINVAL"),
    ("set_ftrace_filter", b"vfs_read:traceoff:x\n", "EINVAL"),
    ("set_ftrace_filter", b"!vfs_read:traceoff\n", "ENODEV"),
    ("set_ftrace_filter", b"v" * 700 + b"\n", "EINVAL"),
    ("set_ftrace_filter", NON_UTF8 + b"\n", "EINVAL"),
    ("set_ftrace_notrace", b"no_such_function_at_all\n", "EINVAL"),
    ("set_ftrace_notrace", b"vfs_read:traceoff\n", "EINVAL"),
    ("set_ftrace_notrace", b"v" * 700 + b"\n", "EINVAL"),
    ("set_ftrace_pid", b"x\n", "EINVAL"),
    ("set_ftrace_pid", b"-1\n", "EINVAL"),
    ("set_ftrace_pid", NON_UTF8, "EINVAL"),
    ("set_ftrace_notrace_pid", b"x\n", "EINVAL"),
    ("available_tracers", b"nop\n", "EINVAL"),
    ("available_filter_functions", b"x\n", "EINVAL"),
    ("enabled_functions", b"x\n", "EINVAL"),
    ("trace_pipe", b"x\n", "EINVAL"),
    ("buffer_total_size_kb", b"10\n", "EINVAL"),
    ("saved_cmdlines", b"x\n", "EINVAL"),
    ("saved_tgids", b"x\n", "EINVAL"),
    ("README", b"x\n", "EINVAL"),
    ("dyn_ftrace_total_info", b"x\n", "EINVAL"),
    ("per_cpu/cpu0/stats", b"x\n", "EINVAL"),
]
for name in ("tracing_on", "buffer_size_kb"):
    ROWS += [(name, text, "EINVAL" if len(text) < 60 else None) for text in NOT_A_NUMBER]


def contents(name):
    """What the file reads now; None where reading consumes or is refused."""
    if name in UNREADABLE or name.endswith("trace_pipe"):
        return None
    with open(name, "rb") as file:
        return file.read()


def attempt(name, data):
    """The errno's name of one write and the close after it, or OK."""
    file = os.open(name, os.O_WRONLY | os.O_APPEND)
    try:
        os.write(file, data)
    except OSError as error:
        return errno.errorcode[error.errno]
    finally:
        os.close(file)
    return "OK"


def main():
    bad = 0
    for name, data, wanted in ROWS:
        before = contents(name)
        got = attempt(name, data)
        after = contents(name)
        shown = data if len(data) < 40 else data[:20] + b"..."
        if wanted and got != wanted:
            print(f"{name}: {shown!r} gave {got}, not {wanted}")
            bad += 1
        elif got == "OK":
            print(f"{name}: {shown!r} was accepted")
            bad += 1
        if before != after and not name.endswith("stats"):
            print(f"{name}: {shown!r} changed it: {before[:80]!r} -> {after[:80]!r}")
            bad += 1
    print(f"{len(ROWS)} writes, {bad} wrong")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
