package tool

import (
	"context"
	"slices"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// CompareSnapshots are the parameters of compare_snapshots.
type CompareSnapshots struct {
	From  uint64 `json:"from" jsonschema:"number of the older snapshot, as list_codebases with view history shows"`
	To    uint64 `json:"to,omitempty" jsonschema:"number of the newer snapshot; default the one served"`
	Level string `json:"level,omitempty" jsonschema:"file (default), symbol or chunk"`
	Where
	Limit  int    `json:"limit,omitempty" jsonschema:"most changes listed; default 200, at most 1000"`
	Cursor string `json:"cursor,omitempty" jsonschema:"next_cursor of an earlier answer"`
	Shape
}

// The levels of a comparison.
const (
	LevelFile   = "file"
	LevelSymbol = "symbol"
	LevelChunk  = "chunk"
)

// CompareLevels lists the levels of a comparison, the default first.
func CompareLevels() []string { return []string{LevelFile, LevelSymbol, LevelChunk} }

// Bounds of a comparison.
const (
	defaultDiffLimit = 200
	maxDiffLimit     = 1000
	// maxCompared is how many files are compared by their symbols or chunks.
	maxCompared = 2000
)

// Reprocessed is the kind of a change that the index settings made: the source is the same.
const Reprocessed = "reprocessed"

// diff compares two retained snapshots.
func (c *call) diff(ctx context.Context, p DiffParams) error {
	if p.Level == "" {
		p.Level = LevelFile
	}
	if p.Limit == 0 {
		p.Limit = defaultDiffLimit
	}
	switch {
	case !slices.Contains(CompareLevels(), p.Level):
		return Invalid("level", "unknown level "+p.Level, CompareLevels()...)
	case p.Limit < 0 || p.Limit > maxDiffLimit:
		return Invalid("limit", "must lie between 1 and 1000")
	}
	b, err := c.resolve(ctx, p.Scope)
	if err != nil {
		return err
	}
	reading, err := c.check(ctx, b, CheckOptions{Mode: ModeEventual})
	if err != nil {
		return err
	}
	if p.To == 0 {
		if reading.View == nil {
			return notReady(b, reading.Running)
		}
		p.To = reading.View.Snapshot.Number
	}
	comparison, err := c.comparison(ctx, b, p)
	if err != nil {
		return err
	}
	changes, err := comparison.run(ctx)
	if err != nil {
		return err
	}
	compared := Compared{
		Level: p.Level, From: infoOf(comparison.from, reading.Verdict.Snapshot),
		To: infoOf(comparison.to, reading.Verdict.Snapshot), Settings: comparison.settings,
	}
	compared.count(changes)
	compared.Reprocessed = max(compared.Reprocessed, comparison.reprocessed)
	c.env.Compared = &compared
	if err := c.mustRequire(); err != nil {
		return err
	}
	of := listing{cursor: p.Cursor, limit: p.Limit, snapshot: p.To, of: []any{b.ID, p.From, p.To, p.Level}}
	return paged(c, changes, of, func(shown []ManifestChange) { c.env.Changes = &shown })
}

// comparison is two snapshots on their way to be compared.
type comparison struct {
	*call
	codebase store.Codebase
	level    string
	from, to store.Snapshot
	// older and newer read the syntaxes of the two, under their recipes.
	older, newer *outlines
	settings     []store.FieldChange
	// reprocessed counts the files that the settings had processed anew.
	reprocessed int
}

func (c *call) comparison(ctx context.Context, b store.Codebase, p DiffParams) (*comparison, error) {
	m := &comparison{call: c, codebase: b, level: p.Level, settings: []store.FieldChange{}}
	var err error
	if m.from, err = c.retained(ctx, b, p.From, "from"); err != nil {
		return nil, err
	}
	if m.to, err = c.retained(ctx, b, p.To, "to"); err != nil {
		return nil, err
	}
	if m.older, err = outlinesOf(ctx, c.Contents, m.from.Fingerprint); err != nil {
		return nil, err
	}
	if m.newer, err = outlinesOf(ctx, c.Contents, m.to.Fingerprint); err != nil {
		return nil, err
	}
	if m.from.Fingerprint != m.to.Fingerprint {
		m.settings = append(m.settings, m.older.recipe.Diff(m.newer.recipe)...)
	}
	return m, nil
}

// run lists what differs: what the source changed first, then what was reprocessed, each
// sorted by path.
func (m *comparison) run(ctx context.Context) ([]ManifestChange, error) {
	pairs, err := compare(m.Catalog.Manifest(ctx, m.codebase.ID, m.from.Number),
		m.Catalog.Manifest(ctx, m.codebase.ID, m.to.Number), len(m.settings) > 0)
	if err != nil {
		return nil, err
	}
	var source, settings []filePair
	for _, pair := range pairs {
		switch {
		case pair.kind != "":
			source = append(source, pair)
		case m.differs(pair.new):
			pair.kind = Reprocessed
			settings = append(settings, pair)
		}
	}
	m.reprocessed = len(settings)
	if m.level != LevelFile {
		return m.inside(ctx, source, settings)
	}
	changes := make([]ManifestChange, 0, len(source)+len(settings))
	for _, pair := range append(source, settings...) {
		changes = append(changes, pair.change())
	}
	return changes, nil
}

// differs reports whether the settings had a file of the same content processed anew.
func (m *comparison) differs(f store.FileEntry) bool {
	syntax := m.older.recipe.SyntaxVersion(f.Language) != m.newer.recipe.SyntaxVersion(f.Language)
	return syntax || slices.ContainsFunc(m.settings, func(s store.FieldChange) bool {
		return s.Side == store.QuerySide
	})
}

func (c *Compared) count(changes []ManifestChange) {
	for _, change := range changes {
		switch change.Kind {
		case merkle.Added.String():
			c.Added++
		case merkle.Modified.String():
			c.Modified++
		case merkle.Removed.String():
			c.Removed++
		case merkle.Renamed.String():
			c.Renamed++
		case Reprocessed:
			c.Reprocessed++
		}
	}
}
