# SPDX-License-Identifier: GPL-2.0
# trace_printk() and trace_puts() of upstream's sample module: entries, printk_formats, the options about them.
load() {
	echo > trace
	modprobe trace-printk
	sleep 1
	rmmod trace-printk
}
show() {
	grep -v '^#' trace
}
echo "== formats before =="
cat printk_formats | grep -c 'trace_bputs\|trace_bprintk'
echo "== banner =="
load
dmesg | sed 's/^\[[^]]*\] //' | grep -A 14 -B 1 'NOTICE NOTICE' | head -n 15
echo "== entries =="
show
echo "== formats =="
grep 'that will use' printk_formats
grep -c . printk_formats
echo "== formats once more =="
load
grep 'that will use' printk_formats
echo "== banner once only =="
dmesg | grep -c 'trace_printk() being used'
for option in raw hex printk-msg-only sym-offset sym-addr fields; do
	echo "== $option =="
	echo 1 > options/$option
	show
	echo 0 > options/$option
done
echo "== printk-msg-only and raw =="
echo 1 > options/printk-msg-only
echo 1 > options/raw
show
echo 0 > options/raw
echo "== printk-msg-only, notrace_printk =="
echo 0 > options/trace_printk
show
echo 0 > options/printk-msg-only
echo "== notrace_printk =="
load
show | wc -l
echo 1 > options/trace_printk
echo "== stacks =="
echo 1 > options/stacktrace
load
# Where they begin differs: the C core leaves out a fixed number of frames, more than are its own.
show | grep -m 1 -x ' => sysvec_irq_work'
show | grep -c 'stack trace'
echo "== what is called for a formatted text is not in the graph =="
echo arch_stack_walk > set_ftrace_filter
echo function_graph > current_tracer
load
sed -n 's,.*/\* \(.*This is a.*\) \*/$,\1,p; s/.*|  *\(arch_stack_walk();\)/\1/p' trace
echo nop > current_tracer
echo > set_ftrace_filter
echo 0 > options/stacktrace
echo > trace
echo "== format files =="
cat events/ftrace/print/format events/ftrace/bprint/format events/ftrace/bputs/format
