package rules

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/freshet/freshet/store"
)

// RecordFailure adds one try to a failure; see store.Writer.
func RecordFailure(ctx context.Context, rows Rows, f store.Failure, park bool, announce func(store.Failure) (store.OutboxEvent, error)) (store.Failure, error) {
	if _, err := rows.Codebase(ctx, f.Codebase); err != nil {
		return store.Failure{}, err
	}
	before, err := rows.Failure(ctx, f)
	if err != nil {
		return store.Failure{}, err
	}
	f.Tries = before.Tries + 1
	f.Parked = before.Parked || park || f.Tries >= store.MaxTries
	f.At = Instant(f.At)
	var events []store.OutboxEvent
	if f.Parked && announce != nil {
		e, err := announce(f)
		if err != nil {
			return store.Failure{}, err
		}
		events = append(events, e)
	}
	if err := rows.PutFailure(ctx, f); err != nil {
		return store.Failure{}, err
	}
	return f, rows.PutOutbox(ctx, events)
}

// ForgetFailures removes the failures of a path, with "" of all paths, and returns those that
// were parked; see store.Writer.
func ForgetFailures(ctx context.Context, rows Rows, id store.CodebaseID, path string) ([]store.Failure, error) {
	if _, err := rows.Codebase(ctx, id); err != nil {
		return nil, err
	}
	dropped, err := rows.DropFailures(ctx, id, path)
	if err != nil {
		return nil, err
	}
	parked := slices.DeleteFunc(dropped, func(f store.Failure) bool { return !f.Parked })
	sortFailures(parked)
	return parked, nil
}

// Failures lists the failures of a codebase; see store.Reader.
func Failures(ctx context.Context, rows Rows, id store.CodebaseID) ([]store.Failure, error) {
	if _, err := rows.Codebase(ctx, id); err != nil {
		return nil, err
	}
	all, err := rows.Failures(ctx, id)
	sortFailures(all)
	return all, err
}

func sortFailures(all []store.Failure) {
	slices.SortFunc(all, func(a, b store.Failure) int {
		if a.Parked != b.Parked {
			if a.Parked {
				return -1
			}
			return 1
		}
		return cmp.Or(
			strings.Compare(a.Path, b.Path),
			bytes.Compare(a.Content[:], b.Content[:]),
			cmp.Compare(a.Stage, b.Stage),
			strings.Compare(a.Version, b.Version))
	})
}
