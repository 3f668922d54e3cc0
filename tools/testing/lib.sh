# SPDX-License-Identifier: GPL-2.0
# For the suites' run scripts: where upstream's selftests are, and how to run cases in a guest. The project's root is the
# current folder. KERNEL is a name under build/ or a directory that holds a built kernel.
kernel=${KERNEL:-rtrace}
case $kernel in */*) built=$kernel ;; *) built=build/$kernel ;; esac
selftests=$(readlink -f "$built/source")/tools/testing/selftests/ftrace

# The list of a suite's cases that QUICK=1 leaves out.
long_cases() { # suite
	[ -z "${QUICK:-}" ] || echo "$PWD/tools/testing/$1/long"
}

guest_suite() { # cases...
	if [ $# -eq 0 ] || [ ! -f "$selftests/ftracetest" ]; then
		echo "# no case chosen, or no kernel built in $built"
		echo "1..1"
		exit 1
	fi
	export KERNEL="$kernel" SMP="${SMP:-2}" GUEST_TIMEOUT="${GUEST_TIMEOUT:-$((5000 + ${TOGGLES:-0}))}" APPEND="log_buf_len=8M ${APPEND:-}"
	CMD="NOT_YET=${NOT_YET:-} LONG=${LONG:-} TOGGLES=${TOGGLES:-} STEP=${STEP:-} LOAD_SECONDS=${LOAD_SECONDS:-} CASE_LIMIT=${CASE_LIMIT:-} RUNNER_OPTIONS=${RUNNER_OPTIONS:-} LC_ALL=C exec python3 $PWD/tools/testing/suite.py $selftests/ftracetest $*" scripts/guest.py
	status=$?
	[ $status -eq 0 ] || echo "not ok 9999 the guest ended with status $status"
	exit $status
}
