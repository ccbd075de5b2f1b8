package search

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/secret"
	"github.com/freshet/freshet/sync/merkle"
)

// Reranker scores the best hits of a query again, by their texts. It may be called from
// several goroutines.
type Reranker interface {
	// Rerank returns one finite score for each document, in the order of the documents, the
	// larger the better. It ends soon after ctx does. Its error is shown to whoever searches.
	Rerank(ctx context.Context, query string, documents []string) ([]float64, error)
}

// Reranking configures the reranking of hybrid and semantic queries in words. Look-ups by
// name, path or pattern, and mode text, are not reranked.
type Reranking struct {
	Reranker Reranker // nil means nobody
	// Top is how many of the best hits are put into a new order, 0 means 32. Hits behind them
	// stay where they are.
	Top int
	// Bytes is the most of a hit's text that the reranker is given, 0 means 2,000.
	Bytes int
	// Deadline is the timeout after which the order without reranking is used, 0 means 800 ms.
	Deadline time.Duration
}

func (o Reranking) withDefaults() Reranking {
	if o.Top <= 0 {
		o.Top = 32
	}
	if o.Bytes <= 0 {
		o.Bytes = 2000
	}
	if o.Deadline <= 0 {
		o.Deadline = 800 * time.Millisecond
	}
	return o
}

// WarnRerank is the code of the warning that hits are not in a reranker's order, and why.
const WarnRerank = "rerank_skipped"

// rerank puts the best hits into the order of the reranker. When there are no scores the
// order stays, with a warning.
func (r *run) rerank(ctx context.Context, hits []joined, ranked []candidate) error {
	o := r.options.Reranking
	inWords := (r.query.Mode == ModeHybrid || r.query.Mode == ModeSemantic) && !r.words.Symbol
	if o.Reranker == nil || !inWords || r.query.Offset >= o.Top || len(hits) < 2 {
		return nil
	}
	top := hits[:min(o.Top, len(hits))]
	key := r.orderKey(top, ranked)
	now := r.options.Now
	// A later page keeps to what the first one did; the first one may try again.
	found, held := r.orders.find(key, now())
	if !held || found.scores == nil && r.query.Offset == 0 {
		documents, err := r.documents(ctx, top, ranked)
		if err != nil {
			return err
		}
		found = order{}
		if found.scores, err = r.scores(ctx, documents); ctx.Err() != nil {
			return ctx.Err()
		} else if err != nil {
			found = order{why: err.Error()}
			if r.query.Offset > 0 {
				found.why += "; the page before may have had another order"
			}
		}
		found = r.orders.keep(key, found, now())
	}
	if found.scores == nil {
		r.warn(WarnRerank, "hits are in the order before reranking: %s", found.why)
		return nil
	}
	reorder(top, hits[len(top):], found.scores)
	return nil
}

// scores asks the reranker, no longer than the deadline, and refuses what is not one finite
// score for each document.
func (r *run) scores(ctx context.Context, documents []string) ([]float64, error) {
	o := r.options.Reranking
	timed, cancel := context.WithTimeout(ctx, o.Deadline)
	defer cancel()
	scores, err := o.Reranker.Rerank(timed, r.query.Text, documents)
	switch {
	case errors.Is(err, context.DeadlineExceeded) || err == nil && timed.Err() != nil:
		return nil, fmt.Errorf("the reranker did not answer within %v", o.Deadline)
	case err != nil:
		return nil, err
	case len(scores) != len(documents):
		return nil, fmt.Errorf("the reranker gave %d scores for %d texts", len(scores), len(documents))
	}
	for i, score := range scores {
		if math.IsNaN(score) || math.IsInf(score, 0) {
			return nil, fmt.Errorf("the reranker gave %v as the score of text %d", score, i)
		}
	}
	return slices.Clone(scores), nil
}

// documents are the texts of hits: path, breadcrumb and the text of the best chunk.
func (r *run) documents(ctx context.Context, top []joined, ranked []candidate) ([]string, error) {
	documents := make([]string, len(top))
	contents := map[merkle.Hash][]byte{}
	for i, h := range top {
		c := &ranked[h.best]
		entry, chunk := c.part.File(c.file-c.part.fileBase).Entry, c.part.Chunk(c.local)
		body, ok := contents[entry.Content]
		if !ok {
			var err error
			body, err = r.source.Content(ctx, entry.Content)
			// What is gone is judged by its path; the hit says so later.
			if err != nil && !errors.Is(err, store.ErrNotFound) && !store.IsDamage(err) {
				return nil, fmt.Errorf("read %s: %w", entry.Path, err)
			}
			body, _ = secret.Mask(body) // whole: a credential that was cut is not known
			contents[entry.Content] = body
		}
		end := min(int(chunk.End), len(body))
		text := store.EmbedText(chunk.Breadcrumb, body[min(int(chunk.Start), end):end])
		documents[i] = cut(entry.Path+"\n"+text, r.options.Reranking.Bytes)
	}
	return documents, nil
}

// cut shortens a text to at most so many bytes of whole characters.
func cut(text string, most int) string {
	if text = strings.ToValidUTF8(text, "\uFFFD"); len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

// orderKey digests what the scores depend on: the query, and path, content and span of each
// hit in the order before.
func (r *run) orderKey(top []joined, ranked []candidate) orderKey {
	data := append([]byte(r.query.Text), 0)
	for _, h := range top {
		c := &ranked[h.best]
		entry, chunk := c.part.File(c.file-c.part.fileBase).Entry, c.part.Chunk(c.local)
		data = append(append(data, entry.Path...), 0)
		data = append(data, entry.Content[:]...)
		data = binary.BigEndian.AppendUint32(data, chunk.Start)
		data = binary.BigEndian.AppendUint32(data, chunk.End)
	}
	return sha256.Sum256(data)
}

// reorder sorts the best hits by the reranker's scores, equal ones as they were. The scores
// of the hits stay where they are: the first hit keeps the highest, so that scores fall
// along the list and stand above the rest's. Equal ones are told apart in their last bit,
// or another sort by score, path and line would undo the order.
func reorder(top, rest []joined, scores []float64) {
	before := make([]float64, len(top))
	for i := range top {
		score := scores[i] // what is kept stays ours
		before[i], top[i].rerank, top[i].rank = top[i].score, &score, i+1
	}
	slices.SortStableFunc(top, func(a, b joined) int { return cmp.Compare(*b.rerank, *a.rerank) })
	below := math.Inf(-1)
	if len(rest) > 0 {
		below = rest[0].score
	}
	for i := len(top) - 1; i >= 0; i-- {
		below = max(before[i], math.Nextafter(below, math.Inf(1)))
		top[i].score = below
	}
}
