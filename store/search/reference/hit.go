package reference

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/search"
	"github.com/freshet/freshet/store/segment"
)

func chunkOf(f *segment.File, d store.Definition) int {
	at := 0
	for i, span := range f.Syntax.Chunks {
		if span.Start <= d.Start {
			at = i
		}
	}
	return at
}

// paged cuts a page out of all hits.
func paged(result search.Result, q search.Query, exact bool, hits []search.Hit) search.Result {
	result.Total, result.TotalExact = len(hits), exact
	from := min(q.Offset, len(hits))
	result.Hits = hits[from:min(from+q.Limit, len(hits))]
	return result
}

func fileHit(f *segment.File, kind search.HitKind, start, end uint32) search.Hit {
	e := f.Entry
	sum := sha256.New()
	sum.Write([]byte(string(kind) + "\x00" + e.Path + "\x00"))
	sum.Write(e.Content[:])
	sum.Write(binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, start), end))
	return search.Hit{ID: hex.EncodeToString(sum.Sum(nil)[:8]), Kind: kind, Path: e.Path, Content: e.Content,
		Language: e.Language, Flags: e.Flags}
}

// firstDefinition is the one that begins first in a chunk.
func firstDefinition(f *segment.File, chunk int) *store.Definition {
	var best *store.Definition
	for i := range f.Syntax.Definitions {
		d := &f.Syntax.Definitions[i]
		if chunkOf(f, *d) == chunk && (best == nil || d.Start < best.Start) {
			best = d
		}
	}
	return best
}
