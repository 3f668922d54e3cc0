# SPDX-License-Identifier: GPL-2.0
# What the cases about changes while calls run have in common; a case reads it by `. "$(dirname "$1")/no-gap.sh"`.
. "$(dirname "$1")/../tracefs/lib.sh"

here=$(dirname "$1")

no_gap() { # changes and instances; see no-gap.py
	echo function > current_tracer
	echo > trace
	python3 "$here/no-gap.py" "$@" > "$TMPDIR/gaps" || wrong "$(cat "$TMPDIR/gaps"), by $*"
	echo nop > current_tracer
}
