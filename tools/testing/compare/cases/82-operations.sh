# SPDX-License-Identifier: GPL-2.0
# Operations on control files from a grammar; see ../operations.py.
echo 0 > events/enable
echo > trace
python3 "$(dirname "$0")/../operations.py" ${OPERATIONS:-5 4}
