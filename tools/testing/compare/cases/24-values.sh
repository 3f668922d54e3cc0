# SPDX-License-Identifier: GPL-2.0
# Odd values written to each control file: the error number, and what the file reads behind it.
cat > /tmp/values.py <<'END'
import errno
import os
import sys

VALUES = [b"", b"\n", b" ", b"0", b"1", b"2", b"-1", b"+1", b" 1", b"1 ", b"1\n", b"1\n\n", b"1\n2", b"1\0", b"\0", b"\x001", b"0x1", b"0X2", b"010",
          b"1x", b"x", b"Y", b"n", b"on", b"off", b"2147483648", b"4294967296", b"18446744073709551615", b"18446744073709551616",
          b"-2147483649", b"-9223372036854775808", b"1 2", b"1,2", b"1-2", b"\t1", b"\xa01", b"\xff", b"1" + b" " * 70, b"1" + b"\n" * 5000]
VALUES += [b"a" * size for size in (62, 63, 64, 65, 66, 127, 128, 129, 255, 256, 4095, 4096, 5000)]
VALUES += [b"0" * zeros + b"1" for zeros in (63, 64, 80)]
# A text of such a file is not that of the last write, or is long; or the number is an amount of memory.
WITHOUT_TEXT = "free_buffer", "trace", "snapshot", "trace_marker", "trace_marker_raw"
AMOUNTS = "buffer_size_kb", "saved_cmdlines_size"


def attempt(call, *arguments):
    try:
        return call(*arguments)
    except OSError as error:
        return errno.errorcode[error.errno]


def read(name):
    file = os.open(name, os.O_RDONLY | os.O_NONBLOCK)
    text = attempt(os.read, file, 300)
    os.close(file)
    return text


for name in sys.argv[1:]:
    base = os.path.basename(name)
    print(f"== {name} ==")
    for value in VALUES:
        if base in AMOUNTS and len(value) >= 9 and value[:1].isdigit():
            continue
        file = os.open(name, os.O_WRONLY | os.O_NONBLOCK)
        written = attempt(os.write, file, value)
        closed = attempt(os.close, file)
        text = "" if base in WITHOUT_TEXT else read(name)
        print(value[:24], len(value), written, closed or "", text)
END
files() {
	find . -maxdepth 1 -type f -perm /200 | cut -c3- | sort | grep -v -e '^user_events_data$' -e '^stack_trace_filter$'
}
python3 /tmp/values.py $(files) options/overwrite options/raw options/func_stack_trace options/trace_printk_dest \
	per_cpu/cpu0/buffer_size_kb per_cpu/cpu0/trace per_cpu/cpu0/snapshot hwlat_detector/mode hwlat_detector/width osnoise/cpus \
	osnoise/options osnoise/period_us events/sched/sched_switch/enable events/sched/sched_switch/filter events/sched/filter |
	grep -v rust-
mkdir instances/values
(
	cd instances/values
	python3 /tmp/values.py $(files) | grep -v rust- | sed 's/^== \(.*\) ==$/== instance, \1 ==/'
)
echo nop > current_tracer
echo 1410 > buffer_size_kb
rmdir instances/values
for list in set_ftrace_pid set_ftrace_notrace_pid set_ftrace_notrace set_ftrace_filter set_event_pid set_event_notrace_pid; do
	echo > $list
done
echo 1 > options/overwrite
echo 1 > tracing_on
