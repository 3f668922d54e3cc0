# SPDX-License-Identifier: GPL-2.0
# The formats of all events, but for their numbers, to the last digit: digits are letters here, so that none is masked.
exact() {
	tr 0123456789 OIZEASGTBQ
}
# Rust Binder, which has events, is in rtrace's kernel alone.
common() {
	grep -v '^rust_binder:'
}
# Which object comes first when the kernel is linked decides about the order.
echo "== available_events =="
common < available_events | sort | exact
echo "== headers of the binary buffer =="
cat events/header_page events/header_event | exact
for system in events/*/; do
	name=$(basename $system)
	# Of the core's own entries rtrace has those that it makes.
	[ $name != ftrace ] && [ $name != rust_binder ] || continue
	echo "== formats of $name =="
	ls $system | common
	cat $(ls -d $system*/format | common) | grep -v '^ID: ' | exact
done
echo "== formats of the core's own entries =="
for entry in function funcgraph_entry funcgraph_exit kernel_stack user_stack bprint print bputs raw_data wakeup context_switch \
	hwlat osnoise timerlat; do
	exact < events/ftrace/$entry/format
done
echo "== names in formats =="
[ ! -e eval_map ] || exact < eval_map
echo "== those of a module =="
modprobe trace-events-sample
exact < eval_map | tail -n 4
cat events/sample-trace/*/format | grep -v '^ID: ' | exact
rmmod trace-events-sample
grep -c sample eval_map || true
