// SPDX-License-Identifier: GPL-2.0
/* Calls getppid() without end; for `where`. */
#include <sys/syscall.h>
#include <unistd.h>

int main(void)
{
	for (;;)
		syscall(SYS_getppid);
}
