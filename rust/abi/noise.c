// SPDX-License-Identifier: GPL-2.0
/* Whether NMIs call back. */
#include <linux/types.h>
#include <linux/ftrace_irq.h>

#ifdef CONFIG_HWLAT_TRACER
bool trace_hwlat_callback_enabled;
#endif

#ifdef CONFIG_OSNOISE_TRACER
bool trace_osnoise_callback_enabled;
#endif
