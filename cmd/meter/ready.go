package meter

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"
)

// readyTime bounds how long log and store may take to answer.
const readyTime = 2 * time.Second

// What Ready returns. The texts are for whoever asks, and name no address.
var (
	ErrLogAway   = errors.New("the event log does not answer")
	ErrStoreAway = errors.New("the store does not answer")
)

// Ready asks log and store, and returns within two seconds: nil when both answered, else
// ErrLogAway, ErrStoreAway or both. Why is logged.
func (s *Standing) Ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	var log, index error
	var both errgroup.Group
	both.Go(func() error {
		if err := s.log.Ping(ctx); err != nil {
			s.logger.Warn("event log does not answer", "error", err)
			log = ErrLogAway
		}
		return nil
	})
	both.Go(func() error {
		if _, err := s.index.LogPosition(ctx); err != nil {
			s.logger.Warn("store does not answer", "error", err)
			index = ErrStoreAway
		}
		return nil
	})
	_ = both.Wait() // neither returns one
	return errors.Join(log, index)
}
