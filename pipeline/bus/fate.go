package bus

import (
	"errors"
	"math/rand/v2"
	"time"
)

// Fate is what a bus does with a delivery after its handler returned.
type Fate uint8

// The fates.
const (
	Acknowledge       Fate = iota + 1 // done, or not needed any more
	Redeliver                         // again, after a delay
	MoveToDeadLetters                 // a dead letter
)

// The bounds of the delay before a redelivery.
const (
	MinDelay = 100 * time.Millisecond
	MaxDelay = 30 * time.Second
)

// FateOf returns the fate of the tries-th delivery of a message whose handler returned err,
// and the delay before it is redelivered.
func FateOf(err error, tries int) (Fate, time.Duration) {
	var retry *Retry
	var drop *Drop
	switch {
	case err == nil || errors.Is(err, ErrObsolete):
		return Acknowledge, 0
	case errors.As(err, &drop):
		return MoveToDeadLetters, 0
	case errors.As(err, &retry) && retry.After > 0:
		return Redeliver, retry.After
	}
	return Redeliver, Backoff(tries)
}

// Backoff returns the delay after the tries-th failure: exponential between MinDelay and
// MaxDelay, with a quarter of jitter. It is a function of the number of tries, which the bus
// or the store counts across processes, and not one of the backoff libraries' objects, which
// count the calls of one process.
func Backoff(tries int) time.Duration {
	d := MinDelay
	for i := 1; i < tries && d < MaxDelay; i++ {
		d *= 2
	}
	d = min(d, MaxDelay)
	return d - rand.N(d/4)
}
