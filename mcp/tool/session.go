package tool

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/search"
)

// SessionTime is how long a session lasts after the last call that named it.
const SessionTime = 30 * time.Minute

// How much a session remembers.
const (
	maxShown   = 1000
	maxQueries = 50
	maxRecent  = 20
	maxSession = 64 // bytes of an id

	digestBytes = 9 // of what a session keeps of a path or an id
)

// The most that recent work near a hit adds to its score, as a share of it.
const (
	boostSameFile      = 0.05
	boostSameDirectory = 0.02
)

// agentSession is what an agent was shown. It is kept in the store under an id that the
// agent chose; without one nothing is kept.
type agentSession struct {
	// Shown are digests of the ids of items with the hash of their content, newest last.
	Shown []shownItem `json:"shown"`
	// Queries are digests of searches with the snapshot that answered.
	Queries []askedQuery `json:"queries"`
	// Recent are digests of the files that were read, newest last: no path is kept.
	Recent []recentFile `json:"near"`
}

// recentFile tells a file and its directory again without naming them.
type recentFile struct {
	File      string `json:"f"`
	Directory string `json:"d"`
}

// recentOf digests a path of a codebase.
func recentOf(id store.CodebaseID, file string) recentFile {
	return recentFile{sessionDigest(id, file), sessionDigest(id, path.Dir(file)+"/")}
}

// sessionDigest is a word of a codebase as a session keeps it: told again, and not read.
func sessionDigest(id store.CodebaseID, word string) string {
	sum := sha256.Sum256([]byte(string(id) + "\x00" + word))
	return base64.RawURLEncoding.EncodeToString(sum[:digestBytes])
}

type shownItem struct {
	ID      string `json:"i"`
	Content string `json:"c"`
}

type askedQuery struct {
	Digest   string `json:"d"`
	Snapshot uint64 `json:"s"`
}

// remember loads the session that the call names, an empty one for a new id. It is nil
// when the call names none, or when the store cannot say: a search goes on without.
func (c *call) remember(ctx context.Context) error {
	id := c.shape.SessionID
	if id == "" {
		return nil
	}
	if len(id) > maxSession || strings.ContainsFunc(id, func(r rune) bool { return !sessionRune(r) }) {
		return Invalid("session_id", fmt.Sprintf("must be 1 to %d letters, digits, dots, dashes and underscores", maxSession))
	}
	c.env.SessionID = id
	c.memory = c.recall(ctx, id)
	return nil
}

// recall loads a session, an empty one for a new id, nil when the store cannot say.
func (c *call) recall(ctx context.Context, id string) *agentSession {
	kept, err := c.Sessions.Session(ctx, id)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		c.warn("session_unavailable", "the session is left out of account: "+err.Error())
		return nil
	}
	var memory agentSession
	if json.Unmarshal(kept.Body, &memory) != nil {
		return &agentSession{} // new, or of another version
	}
	return &memory
}

func sessionRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.", r)
}

// keep writes the session down again with what this answer showed.
func (c *call) keep(ctx context.Context, read bool) {
	if c.memory == nil {
		return
	}
	m := c.memory
	for _, hit := range c.env.Results {
		if item, ok := c.shown[hit.ID]; ok {
			m.Shown = append(slices.DeleteFunc(m.Shown, func(s shownItem) bool { return s.ID == item.ID }), item)
		}
		if read {
			file := recentOf(c.env.Codebase.ID, hit.FilePath)
			m.Recent = append(slices.DeleteFunc(m.Recent, func(r recentFile) bool { return r == file }), file)
		}
	}
	m.Shown = m.Shown[max(0, len(m.Shown)-maxShown):]
	m.Queries = m.Queries[max(0, len(m.Queries)-maxQueries):]
	m.Recent = m.Recent[max(0, len(m.Recent)-maxRecent):]
	body, err := json.Marshal(m)
	if err == nil {
		err = c.Sessions.PutSession(ctx, store.Session{ID: c.shape.SessionID, Until: c.now().Add(SessionTime), Body: body})
	}
	if err != nil {
		c.warn("session_unavailable", "what was shown is not remembered: "+err.Error())
	}
}

// mark notes which hits the session has seen with the same content at a verbosity that
// showed as much, and lifts those near recent work, before the answer is cut to its size.
// Neither changes which hits the answer has.
func (c *call) mark(hits []Hit) {
	if c.memory == nil {
		return
	}
	c.shown, c.scores = map[string]shownItem{}, map[string]float64{}
	seen := 0
	for i := range hits {
		h := &hits[i]
		if c.shape.Verbosity != VerbositySummary && h.Kind != search.HitLine { // a line is no longer than saying so
			item := shownItem{sessionDigest(c.env.Codebase.ID, h.ID), h.ContentHash.Short()}
			c.shown[h.ID] = item
			if h.Seen = slices.Contains(c.memory.Shown, item); h.Seen {
				seen++
			}
		}
		boost := c.memory.near(recentOf(c.env.Codebase.ID, h.FilePath)) * h.SimilarityScore
		h.SimilarityScore += boost
		c.scores[h.ID] = h.SimilarityScore
		if boost > 0 && h.Explain != nil {
			explain := *h.Explain
			explain.Boosts = map[string]float64{"session": boost}
			for name, value := range h.Explain.Boosts {
				explain.Boosts[name] = value
			}
			h.Explain = &explain
		}
	}
	if seen > 0 {
		c.warn("shown_before", "the text of items that this session was shown before is left out; without session_id it is shown again")
	}
}

// near is what recent work adds to the score of a hit in a file, as a share of it.
func (m *agentSession) near(file recentFile) float64 {
	share := 0.0
	for _, recent := range m.Recent {
		switch {
		case recent == file:
			return boostSameFile
		case recent.Directory == file.Directory:
			share = boostSameDirectory
		}
	}
	return share
}

// repeated warns of a query that the session has asked before, and notes it.
func (c *call) repeated(digest string, snapshot uint64) {
	if c.memory == nil {
		return
	}
	asked := askedQuery{digest, snapshot}
	if slices.Contains(c.memory.Queries, asked) {
		c.warn("repeated_query", "this session asked the same of the same snapshot before; the answer is the same")
		return
	}
	c.memory.Queries = append(c.memory.Queries, asked)
}

// collapse leaves out the text of items that were shown before, and orders the items that
// the answer kept by their scores. It is done last, so that it changes neither which items
// an answer has nor where the next one begins.
func (c *call) collapse() {
	if c.memory == nil {
		return
	}
	hits := slices.Clone(c.env.Results)
	for i, h := range hits {
		if h.Seen {
			score := h.SimilarityScore
			hits[i] = project(h, VerbositySummary)
			hits[i].Seen, hits[i].SimilarityScore = true, score
		}
	}
	if c.ranked {
		slices.SortStableFunc(hits, c.compareHits)
	}
	c.env.Results = hits
}

// compareHits is the order of an answer: score, path, line, id. A summary does not show the
// score.
func (c *call) compareHits(a, b Hit) int {
	return cmp.Or(cmp.Compare(c.scores[b.ID], c.scores[a.ID]), strings.Compare(a.FilePath, b.FilePath),
		cmp.Compare(a.StartLine, b.StartLine), strings.Compare(a.ID, b.ID))
}

// ranks reports whether hits of a mode are ordered by scores that a boost may change.
func ranks(mode search.Mode) bool { return !mode.ListsLines() && mode != search.ModePath }
