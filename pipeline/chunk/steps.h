// steps_setup has the runtime allocate with the functions that count.
void steps_setup(void);

// steps_begin makes clock_gettime(CLOCK_MONOTONIC) count its calls on this thread, a
// microsecond each, until steps_end, which returns the number of calls.
void steps_begin(void);
long steps_end(void);

// steps_add counts one more.
void steps_add(void);
