package freshness

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/search"
	merklesync "github.com/freshet/freshet/sync"
)

// Demand says what a read asks of freshness.
type Demand struct {
	// Unchecked reads the last sealed snapshot without a check.
	Unchecked bool
	// MaxWait bounds catching up; a negative one does not wait at all after the check.
	MaxWait time.Duration
	// MinToken is the oldest state that may be answered from, nil for any.
	MinToken *search.Token
	// At asks for a retained, sealed snapshot by its number, 0 for the one served.
	At uint64
}

// Sealer makes snapshots searchable.
type Sealer interface {
	// Want has a codebase sealed as soon as it can be.
	Want(id store.CodebaseID)
	// SealWords makes changes searchable by their words, before they have vectors.
	SealWords(ctx context.Context, id store.CodebaseID) error
}

// Checker proves freshness for reads. All fields are required, and all that they hold may be
// called from several goroutines, as Check may.
type Checker struct {
	Reads     Reader
	Recipe    store.Recipe // in force
	Followers *Followers
	Hub       *Hub
	Sealer    Sealer
	// Words has changes sealed by their words when a reader has waited for half of its time:
	// where an embedding provider over a network may be slow, and this process alone seals.
	Words bool
	// Away reports whether the store cannot be reached and Reads answers from what it has read
	// before.
	Away func() bool
	// Advise gives an error of a look at a tree what to do about it.
	Advise func(id store.CodebaseID, err error) error
	// Warnings are what an answer about a codebase has to tell beside the verdict.
	Warnings func(id store.CodebaseID, state search.Freshness) []search.Warning
	// Hindered reports whether workers met damage of late, over which nothing may be sealed.
	Hindered func() bool
	// Proven is told of a codebase whose tree was proven to be served, by a recipe in force.
	Proven func(ctx context.Context, id store.CodebaseID) error
	Now    func() time.Time
}

// Check compares the tree with the served snapshot and catches up as far as the demand
// allows. A verdict that proves nothing is not an error.
func (c *Checker) Check(ctx context.Context, id store.CodebaseID, d Demand) (Reading, error) {
	if d.At != 0 {
		return c.retained(ctx, id, d.At)
	}
	if d.Unchecked {
		return c.served(ctx, id, search.Verdict{State: search.Unchecked})
	}
	verdict, err := c.judge(ctx, id, d)
	if err != nil {
		return Reading{}, err
	}
	reading, err := c.served(ctx, id, verdict)
	proven := verdict.State == search.Current || verdict.State == search.CaughtUp
	if err == nil && proven && len(reading.Verdict.Requires) == 0 && !c.Away() {
		err = c.Proven(ctx, id)
	}
	return reading, err
}

// judge has the tree looked at, catches up, and says what is proven by that.
func (c *Checker) judge(ctx context.Context, id store.CodebaseID, d Demand) (search.Verdict, error) {
	started := c.Now()
	verdict := search.Verdict{CheckedAt: started.UTC()}
	seen, err := c.look(ctx, id, d)
	verdict.CheckTook = c.Now().Sub(started)
	if err != nil {
		if ctx.Err() != nil || errors.Is(err, merklesync.ErrEnded) || errors.Is(err, errClosed) {
			return verdict, err
		}
		verdict.State, verdict.Reason = search.Unknown, c.Advise(id, err).Error()
		if c.Away() && errors.Is(err, context.DeadlineExceeded) {
			verdict.Reason = "the tree changed, and cannot be compared while the store is away"
		}
		return verdict, nil
	}
	verdict.Ignored, verdict.LinkedFiles = seen.Summary.LeftOut[store.LeftOutIgnored], seen.Summary.Linked
	if verdict.State, err = c.catchUp(ctx, id, seen, d); err != nil {
		return verdict, err
	}
	if verdict.State == search.Behind {
		verdict.Pending, verdict.PendingCount = seen.Changes, seen.ChangeCount
		verdict.Reason = "these changes are not searchable yet"
		if back, err := c.rolledBack(ctx, id); err != nil {
			return verdict, err
		} else if back {
			verdict.Reason = "an older snapshot is served since a rollback; `freshet sync` serves the tree again"
		}
	}
	if seen.KeptCount > 0 {
		verdict = withKept(verdict, seen)
	}
	if d.MinToken != nil && (d.MinToken.Epoch != c.Reads.Epoch() || d.MinToken.Codebase != id) {
		verdict.State, verdict.Reason = search.Unknown, "the token was given by another index"
	}
	return verdict, nil
}

// look has the tree looked at. A look by another process, and one while the store is away,
// has a bound: a tree that changed cannot be looked at to the end then.
func (c *Checker) look(ctx context.Context, id store.CodebaseID, d Demand) (merklesync.Observation, error) {
	synchronizer, err := c.Followers.Follow(id)
	if err != nil {
		return merklesync.Observation{}, err
	}
	ctx, cancel := patience(ctx, synchronizer, d.MaxWait)
	defer cancel()
	if c.Away() {
		ctx, cancel = context.WithTimeout(ctx, max(d.MaxWait, leastPatience))
		defer cancel()
	}
	return synchronizer.Check(ctx)
}

// withKept makes a verdict behind for files that could not be read and are served as they
// were read last.
func withKept(v search.Verdict, seen merklesync.Observation) search.Verdict {
	reason := fmt.Sprintf("%d paths cannot be read, or change while they are read, and are served as they were last read", seen.KeptCount)
	if v.State == search.Behind {
		reason = v.Reason + "; " + reason
	}
	v.State, v.Reason, v.Kept = search.Behind, reason, seen.Kept
	v.Pending = append(v.Pending[:len(v.Pending):len(v.Pending)], seen.Kept...)
	v.Pending, v.PendingCount = v.Pending[:min(len(v.Pending), merklesync.MaxNamed)], v.PendingCount+seen.KeptCount
	return v
}

// catchUp waits until the served snapshot has the tree that the check saw, and is no older
// than the token asked for.
func (c *Checker) catchUp(ctx context.Context, id store.CodebaseID, seen merklesync.Observation, d Demand) (search.Freshness, error) {
	state := search.Current
	timer := time.NewTimer(max(d.MaxWait, 0))
	defer timer.Stop()
	patience := time.NewTimer(d.MaxWait / 2)
	defer patience.Stop()
	var hindered <-chan time.Time // ends the wait when no seal may come of it
	for {
		changed := c.Hub.Changed(id)
		served, err := store.Served(ctx, c.Reads, id)
		if err != nil && !errors.Is(err, store.ErrNoSnapshot) {
			return "", err
		}
		tokenMet := d.MinToken == nil || d.MinToken.Codebase != id || d.MinToken.Snapshot <= served.Number
		if err == nil && served.Root == seen.Root && tokenMet {
			return state, nil
		}
		if d.MaxWait < 0 {
			return search.Behind, nil
		}
		if back, err := c.rolledBack(ctx, id); err != nil || back {
			return search.Behind, err
		}
		state = search.CaughtUp
		if hindered == nil && c.Hindered() {
			hindered = time.After(min(d.MaxWait, damagePatience))
		}
		c.Sealer.Want(id)
		select {
		case <-changed:
		case <-patience.C:
			if !c.Words {
				continue
			}
			if err := c.Sealer.SealWords(ctx, id); err != nil {
				return "", err
			}
		case <-timer.C:
			return search.Behind, nil
		case <-hindered:
			return search.Behind, nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

// damagePatience is how long a reader waits for changes while workers meet damage.
const damagePatience = 2 * time.Second

// rolledBack reports whether an older snapshot is served although the newest is sealed.
func (c *Checker) rolledBack(ctx context.Context, id store.CodebaseID) (bool, error) {
	codebase, err := c.Reads.Codebase(ctx, id)
	if err != nil || codebase.Current == 0 || codebase.Current == codebase.Latest {
		return false, err
	}
	latest, err := c.Reads.Snapshot(ctx, id, codebase.Latest)
	return latest.Level == store.LevelFull, err
}
