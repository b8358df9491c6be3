/* SPDX-License-Identifier: MIT */
/* Two threads that write the same without a word: what races.sh must see. */
#include <pthread.h>
#include <stdio.h>

static int n;

static void *count(void *unused)
{
	for (int i = 0; i < 1000; i++)
		n++;
	return unused;
}

int main(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, count, NULL))
		return 1;
	count(NULL);
	pthread_join(thread, NULL);
	return printf("%d\n", n) < 0;
}
