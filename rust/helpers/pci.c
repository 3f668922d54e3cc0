// SPDX-License-Identifier: GPL-2.0

#include <linux/device.h>

__rust_helper bool rust_helper_rtrace_device_trylock(struct device *device)
{
	return device_trylock(device);
}

__rust_helper void rust_helper_rtrace_device_unlock(struct device *device)
{
	device_unlock(device);
}
