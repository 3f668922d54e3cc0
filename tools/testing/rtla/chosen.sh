#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# chosen.sh TESTS RTLA: in the guest, runs what `chosen` lists of upstream's files of tests, and numbers the results on.
export UPSTREAM=$1 RTLA=$2
# The files take their functions from tests/engine.sh.
cd "$(dirname "$0")" || exit 1
mount -t cgroup2 none /sys/fs/cgroup 2> /dev/null
echo "KTAP version 1"
echo "1..$(grep -vc '^#' chosen)"
number=0
failed=0
while IFS= read -r line; do
	case $line in
	1..*) continue ;;
	ok\ * | not\ ok\ *)
		number=$((number + 1))
		result=${line%%ok *}ok
		[ "$result" = ok ] || failed=1
		line="$result $number ${line#* - }" ;;
	\#*) ;;
	*) line="# $line" ;;
	esac
	echo "$line"
done < <(for file in hwnoise osnoise timerlat; do bash "$UPSTREAM/$file.t" 2>&1 < /dev/null; done)
left=$(cat /sys/kernel/tracing/current_tracer; ls /sys/kernel/tracing/instances)
[ "$left" = nop ] || echo "# left behind: $left"
[ "$left" = nop ] && exit $failed
