#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# measure.sh PROGRAM: in a guest with ICOUNT=1, print a line `event instructions` for each kind of event that the kernel
# has. An event's price is what it adds to the loop of PROGRAM (getppid.c), per event.
program=$1
pingpong=${program%/*}/pingpong
calls=20000
rounds=5
set -e
cd /sys/kernel/tracing
echo 8192 > buffer_size_kb

price() { # name, ns with, ns without, events a call in hundredths
	echo "$1 $(((($2 - $3) * 100 + calls * $4 / 2) / (calls * $4)))"
}

events() { # entries that CPU 0 has made since its buffer was emptied
	awk '/^(entries|overrun|read events):/ { n += $NF } END { print n }' per_cpu/cpu0/stats
}

"$program" > /dev/null # once to warm up
none=$("$program")
# The loop itself, which all that is compiled in for tracing makes longer, also while nothing is on.
price untraced "$none" 0 100

# The only function of this name that the loop calls; the C wrappers of system calls are named by architecture.
echo '*_sys_getppid' > set_ftrace_filter
echo function > current_tracer
price function "$("$program")" "$none" 100
echo 0 > tracing_on
price function_off "$("$program")" "$none" 100
echo 1 > tracing_on
echo nop > current_tracer
if grep -q function_graph available_tracers; then
	echo function_graph > current_tracer
	price function_graph "$("$program")" "$none" 100
	echo 0 > tracing_on
	price function_graph_off "$("$program")" "$none" 100
	echo 1 > tracing_on
	echo nop > current_tracer
fi
if [ -e function_profile_enabled ]; then
	echo 1 > function_profile_enabled
	price function_profile "$("$program")" "$none" 100
	echo 0 > function_profile_enabled
fi
echo > set_ftrace_filter

# A function in Rust beside one in C that calls it, in one loop.
rust=$(sed -n 's/^\(_RNvC[^ ]*rust_binder_ioctl\)$/\1/p' available_filter_functions)
if [ "$rust" ] && mkdir /dev/bench && mount -t binder binder /dev/bench; then
	ioctl() {
		"$program" /dev/bench/binder ioctl
	}
	ioctl > /dev/null
	without=$(ioctl)
	for tracer in function function_graph; do
		for of in "c *_sys_ioctl" "rust $rust"; do
			echo "${of#* }" > set_ftrace_filter
			echo $tracer > current_tracer
			price "${tracer}_${of%% *}" "$(ioctl)" "$without" 100
			echo nop > current_tracer
		done
	done
	echo > set_ftrace_filter
	umount /dev/bench
fi

if [ -e per_cpu/cpu0/stats ]; then
	echo 0 > tracing_on
	echo function > current_tracer
	echo 1 > tracing_on
	with=$("$program")
	echo 0 > tracing_on
	made=$(events)
	echo nop > current_tracer
	echo 1 > tracing_on
	price function_all "$with" "$none" $((made * 100 / (calls * rounds)))
fi

if [ -e trace_marker ]; then
	with=$("$program" trace_marker)
	echo 0 > tracing_on
	without=$("$program" trace_marker)
	echo 1 > tracing_on
	price trace_marker "$with" "$without" 100
fi

# Of events of system calls a part is the kernel's own slow way into a call: what `event_untaken` says.
enter=events/raw_syscalls/sys_enter
if [ -e $enter/enable ]; then
	event() { # name
		price "$1" "$("$program")" "$none" 100
	}
	echo 1 > $enter/enable
	event event
	echo 1 > ${enter%enter}exit/enable
	event event_both
	echo 0 > ${enter%enter}exit/enable
	echo 'id == 99999' > $enter/filter
	event event_rejected
	echo 'id == 110 || id == 39' > $enter/filter
	event event_passed
	echo 0 > $enter/filter
	mkdir instances/bench
	echo 8192 > instances/bench/buffer_size_kb
	echo 1 > instances/bench/$enter/enable
	event event_two
	rmdir instances/bench
	echo 0 > $enter/enable
	echo 'traceoff if id == 99999' > $enter/trigger
	event event_trigger
	echo '!traceoff' > $enter/trigger
	echo 'disable_event:raw_syscalls:sys_enter' > events/sched/sched_kthread_stop/trigger
	event event_untaken
	echo '!disable_event:raw_syscalls:sys_enter' > events/sched/sched_kthread_stop/trigger
	if [ -e $enter/hist ]; then
		echo 'hist:keys=id' > $enter/trigger
		event event_hist
		echo '!hist:keys=id' > $enter/trigger
		two='hist:keys=id,common_pid:vals=id if id == 110 || id == 39'
		echo "$two" > $enter/trigger
		event event_hist_two
		echo "!$two" > $enter/trigger
	fi
	# Both events of a call, a variable of one in the other, and a synthetic event of both.
	if [ -e synthetic_events ] && grep -q 'onmatch(' README; then
		exit=${enter%enter}exit
		echo 'bench_latency u64 lat; long id' > synthetic_events
		echo 'hist:keys=common_pid:ts0=common_timestamp' > $enter/trigger
		onmatch='hist:keys=common_pid:lat=common_timestamp-$ts0:onmatch(raw_syscalls.sys_enter).trace(bench_latency,$lat,id)'
		echo "$onmatch" > $exit/trigger
		echo 1 > events/synthetic/bench_latency/enable
		event event_onmatch
		echo 0 > events/synthetic/bench_latency/enable
		echo "!$onmatch" > $exit/trigger
		echo '!hist:keys=common_pid:ts0=common_timestamp' > $enter/trigger
		echo > synthetic_events
		# A histogram with time stamps has set the clock `global`, which stays.
		echo local > trace_clock
	fi
	if [ -e events/syscalls/sys_enter_getppid/enable ]; then
		echo 1 > events/syscalls/sys_enter_getppid/enable
		event event_syscall
		echo 0 > events/syscalls/sys_enter_getppid/enable
	fi
fi

# Events that users define, at the function that the loop calls.
function=$(sed -n 's/^\([^ ]*_sys_getppid\)\( .*\)\{0,1\}$/\1/p' available_filter_functions | head -n 1)
defined() { # name, definition
	echo "$2" 2> /dev/null > dynamic_events || return 0
	echo 1 > events/bench/probe/enable
	price "$1" "$("$program")" "$none" 100
	echo 0 > events/bench/probe/enable
	echo > dynamic_events
}
if [ -e dynamic_events ]; then
	defined kprobe "p:bench/probe $function"
	defined kretprobe "r:bench/probe $function \$retval"
	defined fprobe "f:bench/probe $function"
	defined fprobe_return "f:bench/probe $function%return \$retval"
fi

# By the code that TRACE_EVENT() generates; interrupts go off twice in a system call.
off=events/preemptirq/irq_disable
if [ -e $off/enable ]; then
	echo 1 > $off/enable
	price event_generated "$("$program")" "$none" 200
	echo 'caller_offs == 0' > $off/filter
	price event_generated_rejected "$("$program")" "$none" 200
	echo 0 > $off/filter
	echo 0 > $off/enable
fi

# An event that Rust code declares: nobody wants it, then it is enabled when its module makes it. The module's own loop.
if modprobe -q -n rtrace_event_cost; then
	modprobe rtrace_event_cost
	modprobe -r rtrace_event_cost
	echo 'rtrace_cost:*:mod:rtrace_event_cost' > set_event
	modprobe rtrace_event_cost
	modprobe -r rtrace_event_cost
	echo > set_event
	dmesg | sed -n 's/.*rtrace_event_cost: \(event_rust[a-z_]* [0-9]*\)$/\1/p'
fi

# A function of the program that the loop calls. The trap is the kernel's own: uprobe_untaken, where nothing is recorded.
place() { # function: where in the file it is
	set -- $(readelf -sW "$program" | awk -v name="$1" '$8 == name { print $2; exit }') $(readelf -SW "$program" |
		sed 's/^ *\[ *[0-9]*\] //' | awk '$1 == ".text" { print $3, $4 }')
	[ $# = 3 ] && printf '0x%x' $((0x$1 - 0x$2 + 0x$3))
}
if [ -e uprobe_events ] && at=$(place syscall); then
	echo "p:bench $program:$at" > uprobe_events
	echo 1 > events/uprobes/bench/enable
	price uprobe "$("$program")" "$none" 100
	echo 0 > events/uprobes/bench/enable
	echo "p:bench_memory $program:$at number=%di:s32 word=+0(%sp):x64" > uprobe_events
	echo 1 > events/uprobes/bench_memory/enable
	price uprobe_memory "$("$program")" "$none" 100
	echo 0 > events/uprobes/bench_memory/enable
	echo "p:bench $program:$at" > uprobe_events
	echo 'enable_event:uprobes:bench' > events/sched/sched_kthread_stop/trigger
	price uprobe_untaken "$("$program")" "$none" 100
	echo '!enable_event:uprobes:bench' > events/sched/sched_kthread_stop/trigger
	# C gives the event back some time after its trigger.
	sleep 1
	echo > uprobe_events || true
fi

# Upstream's benchmark without its reader: reserve and commit through the C interface, with the module's own loop. It
# writes for as long as it is there; what else runs meanwhile (loading, the tick) is below a hundredth.
if modprobe -q -n ring_buffer_benchmark; then
	echo > trace
	modprobe ring_buffer_benchmark disable_reader=1 write_iteration=1000
	sleep 1
	modprobe -r ring_buffer_benchmark
	sed -nE 's/.*: (Time|Hit): +([0-9]+).*/\1 \2/p' trace |
		awk '{ v[$1] = $2 } END { if (v["Hit"]) printf "ring_buffer %d\n", v["Time"] * 1000 / v["Hit"] + 0.5 }'
fi

# What a latency tracer adds where it finds no new maximum.
has() { # tracer
	grep -qw "$1" available_tracers
}

latency() { # tracer; then program
	echo "$1" > current_tracer
	echo 1000000 > tracing_max_latency
	shift
	"$@"
	echo nop > current_tracer
}

echo 0 > options/function-trace
# Interrupts go off and on twice in a system call.
if has irqsoff; then
	price irqsoff "$(latency irqsoff "$program")" "$none" 200
fi
calls=2000
"$pingpong" > /dev/null
if has wakeup_rt; then
	none=$("$pingpong")
	price wakeup "$(latency wakeup_rt "$pingpong")" "$none" 100
fi
echo 1 > options/function-trace

# What a list of pids costs a switch of tasks, of which there are two in a call. Neither task is in it; what is traced is
# nothing that the program calls.
if has function && [ -e set_ftrace_pid ]; then
	echo '*_sys_getppid' > set_ftrace_filter
	echo function > current_tracer
	none=$("$pingpong")
	echo 99999 > set_ftrace_pid
	price switch_pids "$("$pingpong")" "$none" 200
	echo nop > current_tracer
	echo > set_ftrace_pid
	echo > set_ftrace_filter
fi
