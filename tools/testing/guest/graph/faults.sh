# SPDX-License-Identifier: GPL-2.0
# What the cases about faults have in common; a case reads it by `. "$(dirname "$1")/faults.sh"`.
. "$(dirname "$1")/../tracefs/lib.sh"

modprobe graph_faults 2> /dev/null || exit_unresolved
# Its files: see tools/testing/faults/faults.c.
faults=/sys/kernel/debug/graph_faults

fault() { # file, what to write: by a task of its own
	sh -c "echo $2 > $faults/$1" || wrong "$1 $2 failed"
}

fresh() { # file: its lines, without the module's name
	sed 's/ \[graph_faults\]//' "${1:-trace}"
}

calls() { # function, in which trace
	fresh "${2:-trace}" | grep -cE " $1\(\)( \{|;)" || true
}
