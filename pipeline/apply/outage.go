package apply

import (
	"context"
	"errors"

	"github.com/freshet/freshet/pipeline/bus"
)

func outage(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, bus.ErrObsolete) {
		return err
	}
	return &bus.Retry{After: outageDelay, Err: err}
}
