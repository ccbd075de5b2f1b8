//go:build linux

// The tree-sitter runtime asks the clock once for each 100 parse actions whether its time
// is up. The linker gives it the function below in place of the C library's
// (--wrap=clock_gettime), so that a limit of n microseconds is one of n such questions:
// the work done, on any machine and under any load.

#include <stddef.h>
#include <stdlib.h>
#include <time.h>

#include "steps.h"

static __thread int counting;
static __thread long steps;

int __real_clock_gettime(clockid_t id, struct timespec *at);

int __wrap_clock_gettime(clockid_t id, struct timespec *at) {
	if (!counting || id != CLOCK_MONOTONIC)
		return __real_clock_gettime(id, at);
	steps++;
	at->tv_sec = 1 + steps / 1000000; // a time of zero seconds would mean no limit
	at->tv_nsec = steps % 1000000 * 1000;
	return 0;
}

// Error recovery copies arrays of children again and again. What the runtime allocates in
// pieces of a page and more is counted as well, a step for each page.
enum { page = 4096 };

// sound ends the process where memory ran out: the runtime looks at no result.
static void *sound(void *at, size_t size) {
	if (at == NULL && size > 0)
		abort();
	return at;
}

static void *counted_malloc(size_t size) {
	if (counting)
		steps += size / page;
	return sound(malloc(size), size);
}

static void *counted_calloc(size_t count, size_t size) {
	if (counting)
		steps += count * size / page;
	return sound(calloc(count, size), size);
}

static void *counted_realloc(void *at, size_t size) {
	if (counting)
		steps += size / page;
	return sound(realloc(at, size), size);
}

void ts_set_allocator(void *(*)(size_t), void *(*)(size_t, size_t), void *(*)(void *, size_t), void (*)(void *));

void steps_setup(void) { ts_set_allocator(counted_malloc, counted_calloc, counted_realloc, free); }

void steps_begin(void) {
	steps = 0;
	counting = 1;
}

void steps_add(void) { steps++; }

long steps_end(void) {
	counting = 0;
	return steps;
}
