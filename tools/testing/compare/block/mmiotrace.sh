# SPDX-License-Identifier: GPL-2.0
# Accesses of upstream's test module to memory where the guest has no device, and the format of their entries.
echo "== the tracers before function_graph =="
tr ' ' '\n' < available_tracers | sed '/function_graph/q'
for entry in rw map; do
	echo "== format of mmiotrace_$entry =="
	cat events/ftrace/mmiotrace_$entry/format
done
# C has no memory for the module's marks before a module that uses trace_printk() has come.
modprobe trace-printk
rmmod trace-printk
echo mmiotrace > current_tracer
timeout 20 cat trace_pipe > /tmp/lines &
modprobe testmmiotrace mmio_address=0xd0000000
echo the end > trace_marker
for try in $(seq 100); do
	grep -q 'the end' /tmp/lines && break
	sleep 0.1
done
kill $!
wait $! 2> /dev/null
rmmod testmmiotrace
for kind in VERSION PCIDEV MAP UNMAP MARK; do
	echo "== lines $kind =="
	grep "^$kind" /tmp/lines | sed 's/0xffff[0-9a-f]*/ADDRESS/; s/returned .*/returned ADDRESS/; s/ [0-9]*\.[0-9]\{6\} / TIME /'
done
for kind in R W; do
	echo "== lines $kind =="
	grep "^$kind" /tmp/lines | sed 's/ [0-9]*\.[0-9]\{6\} / TIME /' | md5sum | tr '0-9a-f' 'g-v'
	grep "^$kind" /tmp/lines | sed -n '1,3p; 300,303p; $p' | sed 's/ [0-9]*\.[0-9]\{6\} / TIME /'
done
echo "== in trace =="
echo a mark > trace_marker
sed 's/[0-9]*\.[0-9]\{6\}/TIME/' trace
for option in raw hex bin latency-format; do
	echo 1 > options/$option
	echo "== in trace with $option =="
	sed 's/[0-9]*\.[0-9]\{6\}/TIME/; s/[0-9]* us/T us/' trace
	echo 0 > options/$option
done
echo "== after it =="
echo 0 > tracing_on
echo a mark that is lost > trace_marker
echo 1 > tracing_on
cat trace
echo nop > current_tracer
cat trace
