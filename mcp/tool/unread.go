package tool

import (
	"fmt"
	"slices"
	"strings"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/search"
)

// maxPending is how many paths a verdict names.
const maxPending = 20

// unread corrects the verdict for files whose contents the store does not give: no answer
// is current for them. A strict read is refused.
func (c *call) unread(b store.Codebase, count int, paths []string, o CheckOptions) error {
	if count == 0 {
		return nil
	}
	step := manageStep(ActionRepair, string(b.ID), "reads the files again and sets right what the store has lost")
	reason := fmt.Sprintf("the store does not give the contents of %s", plural(count, "file"))
	if o.Mode == ModeStrict {
		return Errorf(CodeStoreUnavailable, "%s", reason).
			Detail("paths", quoted(paths[:min(len(paths), maxPending)])).Detail("count", count).Next(step)
	}
	c.partial()
	c.step(step)
	if o.Mode != ModeEventual {
		c.behind(reason, quoted(paths), count)
	}
	return nil
}

// unreadHits leaves out the hits whose contents the store does not give and names their
// files, with the verdict that unread gives.
func (c *call) unreadHits(a answer, paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	n := len(paths)
	paths = slices.Compact(slices.Sorted(slices.Values(paths)))
	c.warn("content_missing", plural(n, "hit")+" left out, because the store does not give the contents of "+
		strings.Join(quoted(paths[:min(len(paths), maxPending)]), ", "))
	return c.unread(store.Codebase{ID: a.reading.View.Snapshot.Codebase}, len(paths), paths, a.options)
}

// behind makes a verdict that was better than that behind, for paths that are quoted.
func (c *call) behind(reason string, paths []string, count int) {
	f := &c.env.Freshness
	if f.State == search.Current || f.State == search.CaughtUp {
		f.State = search.Behind
	}
	if f.Reason == "" {
		f.Reason = reason
	}
	for _, path := range paths {
		if len(f.PendingPaths) < maxPending && !slices.Contains(f.PendingPaths, path) {
			f.PendingPaths = append(f.PendingPaths, path)
		}
	}
	f.PendingCount = max(f.PendingCount, len(f.PendingPaths), count)
	c.partial()
}
