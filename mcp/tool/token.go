package tool

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/search"
	"github.com/freshet/freshet/sync/merkle"
)

// FormatToken writes a freshness token as one word, "" for the zero token. ParseToken
// reads it back.
func FormatToken(t search.Token) string {
	if t == (search.Token{}) {
		return ""
	}
	return fmt.Sprintf("%s.%s.%d.%s", t.Epoch, t.Codebase, t.Snapshot, t.Root)
}

// ParseToken reads what FormatToken wrote. Whether the epoch is this store's is the
// gate's question.
func ParseToken(s string) (search.Token, error) {
	parts := strings.Split(s, ".")
	if len(parts) != 4 || parts[0] == "" || parts[1] == "" {
		return search.Token{}, fmt.Errorf("parse token %q: want epoch.codebase.snapshot.root", s)
	}
	number, err := strconv.ParseUint(parts[2], 10, 64)
	if err != nil {
		return search.Token{}, fmt.Errorf("parse token %q: snapshot: %w", s, err)
	}
	root, err := merkle.ParseHash(parts[3])
	if err != nil {
		return search.Token{}, fmt.Errorf("parse token %q: root: %w", s, err)
	}
	return search.Token{Epoch: parts[0], Codebase: store.CodebaseID(parts[1]), Snapshot: number, Root: root}, nil
}
