// SPDX-License-Identifier: GPL-2.0
/* A module of somebody else's, built with the headers package alone: a function to trace, and an event. */
#include <linux/module.h>
#include <linux/moduleparam.h>

#define CREATE_TRACE_POINTS
#include "own_module_event.h"

static noinline int own_module_answer(int question)
{
	trace_own_module_asked(question);
	return question + 1;
}

static int ask(const char *value, const struct kernel_param *param)
{
	int question;
	int error = kstrtoint(value, 0, &question);

	return error ? error : own_module_answer(question) == question;
}

static const struct kernel_param_ops asked = { .set = ask };

module_param_cb(question, &asked, NULL, 0200);
MODULE_DESCRIPTION("A module built outside of the kernel's tree");
MODULE_LICENSE("GPL");
