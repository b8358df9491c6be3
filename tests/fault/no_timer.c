/* SPDX-License-Identifier: MIT */
/* A kernel whose CPU timers never fire: perf events are not enabled. */
#include <dlfcn.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <sys/ioctl.h>

int ioctl(int fd, unsigned long request, ...)
{
	int (*real)(int, unsigned long, ...) = dlsym(RTLD_NEXT, "ioctl");
	va_list list;
	void *argument;

	va_start(list, request);
	argument = va_arg(list, void *);
	va_end(list);
	if (request == PERF_EVENT_IOC_ENABLE)
		return 0;
	return real(fd, request, argument);
}
