package tool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/search"
	"github.com/freshet/freshet/store/secret"
	"github.com/freshet/freshet/sync/merkle"
)

// Bounds of a search.
const (
	DefaultLimit     = 10
	MaxLimit         = 100
	MaxContext       = 50
	MaxQuery         = 4096
	DefaultMaxTokens = 4000
	MaxMaxTokens     = 25000
)

// search answers a query: the verdict first, then retrieval, then a comparison of each hit
// with the disk. When files changed while it was answering it checks and answers once
// more, and names what changed after that.
func (c *call) search(ctx context.Context, p SearchParams) error {
	query, err := p.query()
	if err != nil {
		return err
	}
	if p.Context > 0 && p.Verbosity == "" {
		c.shape.Verbosity = VerbosityFull // the only level that shows them
	}
	options, err := p.options()
	if err != nil {
		return err
	}
	b, err := c.searchable(ctx, p)
	if err != nil {
		return err
	}
	if p.At != 0 {
		if err := c.at(ctx, b, p, &options); err != nil {
			return err
		}
	}
	if b.Current == 0 {
		if err := c.firstSeal(ctx, b, options); err != nil {
			return err
		}
	}
	answer, err := c.answer(ctx, b, options, query, p.Cursor)
	if err != nil {
		return err
	}
	if len(answer.moved) > 0 && options.Mode != ModeEventual {
		if answer, err = c.answer(ctx, b, options, query, p.Cursor); err != nil {
			return err
		}
	}
	if err := c.label(b, answer, options); err != nil {
		return err
	}
	c.waitLonger(answer.reading.Verdict)
	if err := c.remember(ctx); err != nil {
		return err
	}
	c.repeated(digestOf(answer.digest(), p.Cursor), answer.reading.View.Snapshot.Number)
	return c.present(ctx, answer, p)
}

// firstSeal waits for the operation that indexes a codebase for the first time, no longer
// than the caller would wait for changes: its scan is not waited for otherwise.
func (c *call) firstSeal(ctx context.Context, b store.Codebase, o CheckOptions) error {
	running, err := c.Operations.Last(ctx, b.ID)
	if err != nil || running.ID == "" || running.Phase.Ended() {
		return err
	}
	if running, err = c.poll(ctx, running, o.MaxWait); err != nil || running.Phase.Ended() {
		return err
	}
	c.env.Operation, c.env.State = &running, stateOf(b, &running, false)
	return notReady(b, &running)
}

// at makes a search read a retained snapshot as it is.
func (c *call) at(ctx context.Context, b store.Codebase, p SearchParams, o *CheckOptions) error {
	if p.Freshness == ModeStrict {
		return Invalid("freshness", "strict asks for the tree as it is, and at for a retained snapshot: leave one of them out")
	}
	s, err := c.retained(ctx, b, p.At, "at")
	if err != nil {
		return err
	}
	if s.Level == store.LevelOpen {
		return Errorf(CodeSnapshotNotFound, "snapshot %d is not sealed, so it cannot be searched", p.At).Next(historyStep(b))
	}
	o.Mode, o.At, o.MinToken = ModeEventual, p.At, nil
	return nil
}

func (p SearchParams) query() (search.Query, error) {
	q := search.Query{
		Text: p.Query, Mode: search.Mode(p.Mode), Limit: p.Limit,
		Paths: p.Paths, Languages: p.Langs, Kinds: p.Kinds, Explain: p.Explain, Case: search.Case(p.Case),
	}
	if q.Mode == "" {
		q.Mode = search.ModeHybrid
	}
	if q.Limit == 0 {
		q.Limit = DefaultLimit
	}
	switch {
	case q.Text == "" || !q.Mode.ListsLines() && strings.TrimSpace(q.Text) == "":
		return q, Invalid("query", "is empty")
	case len(q.Text) > MaxQuery:
		return q, Invalid("query", fmt.Sprintf("is longer than %d bytes", MaxQuery))
	case !slices.Contains(search.Modes(), q.Mode):
		return q, Invalid("mode", "unknown mode "+p.Mode, allowed(search.Modes())...)
	case q.Case != "" && !slices.Contains(search.Cases(), q.Case):
		return q, Invalid("case", "unknown rule "+p.Case, allowed(search.Cases())...)
	case q.Case != "" && !q.Mode.ListsLines():
		return q, Invalid("case", "is for modes exact and regex: leave it out in mode "+string(q.Mode))
	case q.Limit < 0 || q.Limit > MaxLimit:
		return q, Invalid("limit", fmt.Sprintf("must lie between 1 and %d", MaxLimit))
	case p.Context < 0 || p.Context > MaxContext:
		return q, Invalid("context_lines", fmt.Sprintf("must lie between 0 and %d", MaxContext))
	}
	return q, nil
}

// searchable finds the codebase, and with Create makes one of the working directory and
// indexes it first.
func (c *call) searchable(ctx context.Context, p SearchParams) (store.Codebase, error) {
	b, err := c.resolve(ctx, p.Scope)
	var missing *Error
	if errors.As(err, &missing) && missing.Code == CodeCodebaseNotFound &&
		p.Create && p.Codebase == "" && p.CWD != "" {
		if b, err = c.Registry.Register(ctx, p.CWD, c.permit(p.Scope)); err != nil {
			return b, err
		}
		c.about(b)
		return b, c.firstIndex(ctx, b)
	}
	if err != nil || b.Current != 0 || !p.Create {
		return b, err
	}
	facts, err := c.Inspector.Inspect(ctx, b.ID)
	if r := facts.Running; err != nil || r != nil && (r.Kind != OperationIndex || p.Freshness == ModeEventual) {
		return b, err // what runs is reported by the gate
	}
	return b, c.firstIndex(ctx, b) // or waits for the one that another caller began
}

func (c *call) firstIndex(ctx context.Context, b store.Codebase) error {
	operation, err := c.Operations.Start(ctx, b.ID, OperationIndex)
	if err != nil {
		return err
	}
	return c.await(ctx, b, operation)
}

// answer is one attempt at a query: what was read, found, and compared with the disk.
type answer struct {
	reading Reading
	options CheckOptions
	query   search.Query
	result  search.Result
	states  []DiskState
	moved   []string // paths of hits whose file is not what the snapshot has
}

func (c *call) answer(ctx context.Context, b store.Codebase, o CheckOptions, q search.Query, at string) (answer, error) {
	c.env.Status, c.env.Warnings = StatusOK, c.env.Warnings[:0]
	reading, err := c.check(ctx, b, o)
	if err != nil {
		return answer{}, err
	}
	if err := c.admit(b, reading, o, q.Mode); err != nil {
		return answer{}, err
	}
	found := answer{reading: reading, options: o, query: q}
	if at != "" {
		if q.Mode.ListsLines() {
			q.From, err = c.readPlace(at, reading.View.Snapshot.Number, found.digest())
		} else {
			q.Offset, err = c.readCursor(at, reading.View.Snapshot.Number, found.digest())
		}
		if err != nil {
			return answer{}, err
		}
	}
	result, err := c.Search.Search(ctx, *reading.View, q)
	if err != nil {
		return answer{}, err
	}
	found.query, found.result = q, result
	for _, hit := range result.Hits {
		state, err := c.Disk.Compare(ctx, b, hit.Path, hit.Content)
		if err != nil {
			return answer{}, err
		}
		if state != DiskSame && reading.Verdict.Keeps(hit.Path) {
			state = DiskUnseen // the verdict names it, or the directory above it
		}
		found.states = append(found.states, state)
		if (state == DiskChanged || state == DiskGone) && !slices.Contains(found.moved, hit.Path) {
			found.moved = append(found.moved, hit.Path)
		}
	}
	return found, nil
}

// label corrects the verdict for hits that the disk contradicts.
func (c *call) label(b store.Codebase, a answer, o CheckOptions) error {
	for _, w := range a.result.Warnings {
		if w.Code == string(CodeEmbedderUnavailable) && a.query.Mode == search.ModeSemantic {
			return Errorf(CodeEmbedderUnavailable, "mode semantic compares vectors: %s", w.Message).
				Next(c.again(map[string]any{"mode": string(search.ModeText)}, "ranks by words, without vectors"))
		}
		c.warn(w.Code, w.Message)
	}
	if err := c.unread(b, a.result.UnreadCount, a.result.Unread, o); err != nil {
		return err
	}
	if len(a.moved) == 0 || o.Mode == ModeEventual {
		return nil
	}
	if o.Mode == ModeStrict {
		return Errorf(CodeSourceChanged, "files changed while the query was answered").
			Detail("paths", quoted(a.moved)).RetryAfter(200).
			Next(manageStep("sync", string(b.ID), "catches up and waits for it"))
	}
	c.behind("files changed after the check", quoted(a.moved), 0)
	return nil
}

// waitLonger tells an agent whose answer is behind how to get one that is not.
func (c *call) waitLonger(v search.Verdict) {
	const longer = 30_000
	if given, _ := c.repeat["max_wait_ms"].(float64); given >= longer {
		return
	}
	if c.tool != "" && c.env.Freshness.State == search.Behind && (len(v.Kept) == 0 || v.PendingCount > len(v.Kept)) {
		c.env.NextSteps = append(c.env.NextSteps, c.again(map[string]any{"max_wait_ms": longer}, "waits longer for what is pending"))
	}
}

// present turns the result into hits, of which fit keeps what the budget holds.
func (c *call) present(ctx context.Context, a answer, p SearchParams) error {
	outlines, err := outlinesOf(ctx, c.Contents, a.reading.View.Snapshot.Fingerprint)
	if err != nil {
		return err
	}
	keys := make([]store.SyntaxKey, 0, len(a.result.Hits))
	for _, found := range a.result.Hits {
		keys = append(keys, outlines.key(found.Content, found.Language))
	}
	if err := outlines.load(ctx, keys); err != nil && !errors.Is(err, store.ErrUnavailable) && !damaged(err) {
		return err
	}
	bodies := bodies{contents: c.Contents, query: p.Query, held: map[merkle.Hash][]byte{}, outlines: outlines}
	hits, looked := []Hit{}, []int{} // looked counts the hits of the result up to and with each
	withheld := 0
	var unread []string
	for i, found := range a.result.Hits {
		if secret.Named(found.Path) { // the snapshot is of rules that did not know the name
			withheld++
			continue
		}
		if a.states[i] == DiskGone && a.options.Mode != ModeEventual && c.env.Freshness.State != search.Unknown {
			continue
		}
		hit, err := bodies.hit(ctx, found, p.Context)
		if errors.Is(err, errDamaged) {
			unread = append(unread, found.Path)
			continue
		}
		if err != nil {
			return err
		}
		hit.Verified = a.states[i] == DiskSame
		if c.tool != "" {
			hit.FQN = plainName(hit.FQN)
		}
		hits, looked = append(hits, hit), append(looked, i+1)
	}
	c.warnMasked(hits)
	c.ranked = ranks(a.query.Mode)
	c.mark(hits)
	for i, hit := range hits {
		hits[i] = project(hit, c.shape.Verbosity)
	}
	if bodies.bare > 0 {
		c.warn("code_missing", "the code of "+plural(bodies.bare, "hit")+" is left out: the store cannot be reached; the lines are those of the files as they were indexed")
	}
	dropped := len(a.result.Hits) - len(hits)
	if err := c.unreadHits(a, unread); err != nil {
		return err
	}
	if gone := dropped - withheld - len(unread); gone > 0 {
		c.warn("hits_dropped", plural(gone, "hit")+" left out: the file is gone since the check")
	}
	if withheld > 0 {
		c.warn("secrets_withheld", plural(withheld, "hit")+" left out: the names are those of secrets, and the snapshot was made by a version that did not know them")
	}
	c.page = &page{items: len(hits), keep: func(n int) {
		c.env.Results = hits[:n]
		if n == len(hits) {
			c.count(a, len(a.result.Hits), dropped)
		} else {
			c.count(a, looked[n]-1, dropped)
		}
	}}
	c.consider(a)
	if len(a.result.Hits) == 0 {
		c.explainEmpty(a, p)
	} else if c.shape.Verbosity == VerbositySummary {
		c.env.Considered = nil
	}
	return nil
}

// count tells how much of the list is shown and where it goes on. What is gone from the
// disk is known of the hits looked at only, so that a total without them is not exact.
func (c *call) count(a answer, looked, dropped int) {
	e := c.env
	e.TotalCount, e.TotalIsExact, e.ReturnedCount = a.result.Total-dropped, a.result.TotalExact && dropped == 0, len(e.Results)
	e.NotSearched, e.NextCursor = a.result.NotSearched, ""
	if v := a.reading.Verdict; a.query.Mode == search.ModeSymbol && (v.Parked > 0 || a.reading.View.Snapshot.Level < store.LevelFull) {
		e.TotalIsExact = false // the symbols of what has no syntax are not known
		if v.Parked > 0 {
			e.NotSearched = &search.NotSearched{Files: v.Parked}
		}
	}
	if a.query.Mode.ListsLines() {
		place := a.behind(looked)
		e.RemainingCount = max(0, a.result.Total-place.Found)
		if e.HasMore = e.RemainingCount > 0 || e.NotSearched != nil && e.NotSearched.Ahead; e.HasMore {
			e.NextCursor = writePlace(place, a.reading.View.Snapshot.Number, a.digest())
		}
		return
	}
	next := a.query.Offset + looked
	e.RemainingCount = max(0, a.result.Total-next)
	if e.HasMore = e.RemainingCount > 0; e.HasMore {
		e.NextCursor = writeCursor(next, a.reading.View.Snapshot.Number, a.digest())
	}
}

// behind is the place behind the first hits of a scan.
func (a answer) behind(looked int) search.Place {
	switch {
	case looked == len(a.result.Hits) && a.result.Stopped != nil:
		return *a.result.Stopped
	case looked == 0:
		return a.query.From
	}
	return a.result.Places[looked-1]
}

// digest binds a cursor to a query on a codebase.
func (a answer) digest() string {
	q := a.query
	q.Offset, q.Limit, q.Explain, q.From = 0, 0, false, search.Place{}
	return digestOf(a.reading.View.Snapshot.Codebase, q)
}

func (c *call) consider(a answer) {
	considered := a.result.Considered
	c.env.Considered = &Considered{
		Files: considered.Files, Chunks: considered.Chunks,
		Removed: considered.Removed, UnknownTerms: append([]string{}, considered.UnknownTerms...),
	}
	if c.env.Considered.Removed == nil {
		c.env.Considered.Removed = map[string]int{}
	}
}

// explainEmpty says why nothing was found and what to try.
func (c *call) explainEmpty(a answer, p SearchParams) {
	seen := c.env.Considered
	message := fmt.Sprintf("nothing matched among %s in %s", plural(seen.Chunks, "chunk"), plural(seen.Files, "file"))
	for _, filter := range sortedKeys(seen.Removed) {
		if n := seen.Removed[filter]; n > 0 {
			message += fmt.Sprintf("; filter %s takes out %s", filter, plural(n, "file"))
		}
	}
	if len(seen.UnknownTerms) > 0 {
		message += "; the index does not have the words " + strings.Join(seen.UnknownTerms, ", ")
	}
	c.warn("no_hits", message)
	step := NextStep{ToolSearch, map[string]any{"query": p.Query, "codebase": string(c.env.Codebase.ID)}, "searches without filters"}
	switch {
	case len(p.Paths)+len(p.Langs)+len(p.Kinds) > 0:
		c.env.NextSteps = append(c.env.NextSteps, step)
	case a.query.Mode != search.ModeHybrid:
		step.Arguments["mode"] = string(search.ModeHybrid)
		step.Why = "compares words, vectors and symbols"
		c.env.NextSteps = append(c.env.NextSteps, step)
	}
}
