# SPDX-License-Identifier: GPL-2.0
# Definitions, filters and triggers from a grammar; see ../definitions.py.
exec python3 "$(dirname "$0")/../definitions.py" ${DEFINITIONS:-4 60}
