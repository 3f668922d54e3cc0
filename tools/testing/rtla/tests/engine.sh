# SPDX-License-Identifier: GPL-2.0
# Upstream's functions, of which the one that runs a test runs only those that are chosen.
. "$UPSTREAM/engine.sh"
eval "every_$(declare -f check)"
check() {
	grep -qxF "$(basename "$0" .t): $1" chosen && every_check "$@"
}
