#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# suite.sh FTRACETEST CASE... : in the guest, run each test case by upstream's own runner, one KTAP line a result.
#
# A case is run by itself, so that what the kernel complains of while it runs is its own failure. A case whose features
# the kernel does not have is skipped, and so is one that the runner calls unresolved (a program or a module is missing).
# NOT_YET names a file of `path<TAB>what it lacks` for cases that do not say themselves what they require. Without a
# directory `instances` the repetition of a case in an instance is left out.
runner=$1
shift
tracing=/sys/kernel/tracing
complaint='WARNING: |BUG: |Oops|Call Trace:|general protection|blocked for more|detected stall|rcu: INFO|UBSAN|KASAN|KCSAN'
limit=$((400 + ${TOGGLES:-0})) # seconds for a case and its repetition in an instance; a second more for each toggle
logs=$(mktemp -d)
number=0

# Console messages so far; the log is large enough to lose none during one case.
kernel_log() { dmesg | grep -Ec "$complaint"; }

report() { # line of the runner's KTAP, the case's log, number of new complaints
	case $1 in
	*'# SKIP'*) what="ok"; note=" # SKIP not supported by this kernel" ;;
	*'# UNRESOLVED'*) what="ok"; note=" # SKIP unresolved" ;;
	*'# XFAIL'*) what="ok"; note="" ;;
	ok*) what="ok"; note="" ;;
	*) what="not ok"; note="" ;;
	esac
	title=$(echo "$1" | sed -E 's/^(not )?ok [0-9]+ *//; s/ # (SKIP|UNRESOLVED|XFAIL|error).*//; s/ *$//')
	number=$((number + 1))
	if [ "$3" -gt 0 ]; then
		what="not ok"
		note=""
		echo "# the kernel complained:"
		dmesg | grep -E "$complaint" -A 12 | tail -n 30 | sed 's/^/#   /'
	fi
	if [ "$what" = "not ok" ]; then
		tail -n 25 "$2"/*.tc-log.* 2>/dev/null | sed 's/^/#   /'
	fi
	echo "$what $number $title$note"
}

# What the case lacks, or nothing: a file named in its `requires:`, or what NOT_YET says.
lacks() { # case
	for file in $(sed -n 's/^#[ \t]*requires://p' "$1"); do
		case $file in *:* | *\"* | *\'*) continue ;; esac
		[ -e "$tracing/$file" ] || { echo "no $file"; return; }
	done
	[ -n "${NOT_YET:-}" ] && while IFS='	' read -r path lack; do
		case $path in '#'*) continue ;; esac
		case $1 in *"/test.d/$path"*) echo "$lack"; return ;; esac
	done <"$NOT_YET"
}

echo "KTAP version 1"
for case in "$@"; do
	lack=$(lacks "$case")
	if [ -n "$lack" ]; then
		number=$((number + 1))
		echo "ok $number$(sed -n 's/^#[ \t]*description://p' "$case" | head -n 1) # SKIP $lack"
		continue
	fi
	rm -rf "${logs:?}"/*
	before=$(kernel_log)
	begun=$(date +%s)
	timeout -k 10 "$limit" sh "$runner" --ktap --keep --logdir "$logs" "$case" >"$logs/ktap" 2>&1
	new=$(($(kernel_log) - before))
	echo "# $(($(date +%s) - begun)) s: $case"
	grep -E '^(not )?ok ' "$logs/ktap" >"$logs/results" || echo "not ok 1 $case: the runner gave no result" >"$logs/results"
	while read -r line; do
		case $line in *'(instance)'*) [ -d $tracing/instances ] || continue ;; esac
		report "$line" "$logs" "$new"
		new=0
	done <"$logs/results"
done
echo "1..$number"
