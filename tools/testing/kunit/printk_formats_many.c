// SPDX-License-Identifier: GPL-2.0
/* A module with 4,000 formats of trace_printk(), "many: 0000" to "many: 3999", where the compiler would put them. It prints none. */
#include <linux/module.h>

#define TEN(text)	text "0", text "1", text "2", text "3", text "4", text "5", text "6", text "7", text "8", text "9"
#define HUNDRED(text)	TEN(text "0"), TEN(text "1"), TEN(text "2"), TEN(text "3"), TEN(text "4"), \
			TEN(text "5"), TEN(text "6"), TEN(text "7"), TEN(text "8"), TEN(text "9")
#define THOUSAND(text)	HUNDRED(text "0"), HUNDRED(text "1"), HUNDRED(text "2"), HUNDRED(text "3"), HUNDRED(text "4"), \
			HUNDRED(text "5"), HUNDRED(text "6"), HUNDRED(text "7"), HUNDRED(text "8"), HUNDRED(text "9")

static const char *formats[] __used __section("__trace_printk_fmt") = {
	THOUSAND("many: 0"), THOUSAND("many: 1"), THOUSAND("many: 2"), THOUSAND("many: 3")
};

MODULE_DESCRIPTION("Formats of trace_printk(), thousands of them");
MODULE_LICENSE("GPL");
