package bus

import (
	"errors"
	"math/rand/v2"
	"time"
)

// Fate is what becomes of a delivery.
type Fate uint8

// The fates.
const (
	Acknowledge Fate = iota + 1 // done, or not needed any more
	Redeliver                   // again, after a delay
	Bury                        // a dead letter
)

// The bounds of the delay before a redelivery.
const (
	MinDelay = 100 * time.Millisecond
	MaxDelay = 30 * time.Second
)

// FateOf says what becomes of the tries-th delivery of a message whose handler returned
// err, and after what delay it is redelivered.
func FateOf(err error, tries int) (Fate, time.Duration) {
	var retry *Retry
	var drop *Drop
	switch {
	case err == nil || errors.Is(err, ErrObsolete):
		return Acknowledge, 0
	case errors.As(err, &drop):
		return Bury, 0
	case errors.As(err, &retry) && retry.After > 0:
		return Redeliver, retry.After
	}
	return Redeliver, Backoff(tries)
}

// Backoff is the delay after the tries-th failure. It doubles with each try between MinDelay and MaxDelay, less up to a quarter at
// random, so that what failed together does not come back together.
func Backoff(tries int) time.Duration {
	d := MinDelay
	for i := 1; i < tries && d < MaxDelay; i++ {
		d *= 2
	}
	d = min(d, MaxDelay)
	return d - rand.N(d/4)
}
