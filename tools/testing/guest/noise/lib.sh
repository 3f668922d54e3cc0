# SPDX-License-Identifier: GPL-2.0
# What the cases of this folder have in common, besides tracefs/lib.sh.
. "$(dirname "$1")/../tracefs/lib.sh"

settings="period_us runtime_us stop_tracing_us stop_tracing_total_us print_stack timerlat_period_us"

put_back() {
	for instance in . instances/noise*; do
		[ ! -d $instance ] || echo nop > $instance/current_tracer
	done
	rmdir instances/noise* 2> /dev/null || :
	echo DEFAULTS > osnoise/options
	echo 0-N > osnoise/cpus
	echo 1000000 > osnoise/period_us
	echo 1000000 > osnoise/runtime_us
	echo 1000 > osnoise/timerlat_period_us
	for number in stop_tracing_us stop_tracing_total_us print_stack; do
		echo 0 > osnoise/$number
	done
	echo 0 > tracing_thresh
	echo 0 > events/osnoise/enable
	echo 1 > tracing_on
	for cpu in /sys/devices/system/cpu/cpu[1-9]*/online; do
		[ ! -e $cpu ] || echo 1 > $cpu
	done
}
trap put_back EXIT

within() { # seconds command...: it succeeds in that time
	left=$(($1 * 5))
	shift
	until "$@"; do
		left=$((left - 1))
		[ $left -gt 0 ] || wrong "not in time: $*"
		sleep 0.2
	done
}

threads() { # name: the CPUs that have a thread of that name
	ps -e -o comm | sed -n "s|^$1/||p" | sort -n | tr '\n' ' '
}

are() { # name cpus: the CPUs with threads
	[ "$(threads $1)" = "${2:+$2 }" ]
}

lines() { # pattern [file]
	grep -Ec -- "$1" ${2:-trace} || :
}

seen() { # pattern [file]: once or more
	grep -Eq -- "$1" ${2:-trace}
}
