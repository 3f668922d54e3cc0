# SPDX-License-Identifier: GPL-2.0
# The stack tracer: its files, its switch, and the stack of one function, which is the same in every kernel.
enabled=/proc/sys/kernel/stack_tracer_enabled
rows() { # In C the part of the innermost has 40 bytes more, which are the trampoline's.
	sed -E '/^  0\)/s/ +[0-9]+ +[0-9]+ / DEPTH SIZE /' stack_trace
}
echo "== stack tracer, off =="
cat stack_trace stack_max_size stack_trace_filter $enabled
stat -c '%n %A' stack_trace stack_max_size stack_trace_filter $enabled
echo "== stack tracer, one function =="
echo '__x64_sys_getppid' > stack_trace_filter
cat stack_trace_filter
echo 1 > $enabled
sh -c : # asks who its parent is
cat $enabled stack_max_size
rows
echo 0 > $enabled
echo "== stack tracer, off again =="
rows
echo 0 > stack_max_size
rows
echo "== stack tracer, a deeper one only =="
echo '__x64_sys_pipe*' '__x64_sys_getppid' > stack_trace_filter
cat stack_trace_filter
echo 1 > $enabled
echo : | sh
sh -c :
rows
echo 0 > $enabled
echo "== stack tracer, numbers =="
for number in 0 12 -1 +5 ' 7' '7 ' x 1x '' 0x10 010 9223372036854775808 18446744073709551615 18446744073709551616; do
	echo "'$number'"
	/bin/echo "$number" > stack_max_size
	cat stack_max_size
done
echo "== stack tracer, the switch =="
for number in 2 -3 x '' '1 2' '1x' 0x1 99999999999 0; do
	echo "'$number'"
	/bin/echo "$number" > $enabled
	cat $enabled
done
echo "== stack tracer, the filter =="
for words in no_such_function 'vfs_open vfs_read' '!vfs_open' '!vfs_write' 'vfs_open:traceoff' 'vfs_open:nothing' \
	'*:mod:no_such_module' ':mod' '*'; do
	echo "'$words'"
	/bin/echo "$words" > stack_trace_filter
	head -n 3 stack_trace_filter
done
echo vfs_open >> stack_trace_filter
echo > stack_trace_filter
cat stack_trace_filter
echo "== stack tracer, what cannot be written =="
echo 1 > stack_trace
mkdir instances/other
ls instances/other | grep stack_
rmdir instances/other
echo "none in instances"
