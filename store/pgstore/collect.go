package pgstore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/freshet/freshet/store"
)

// errDryRun rolls a collection back.
var errDryRun = errors.New("dry run")

// Collect removes snapshots beyond the retention and what none of the others reaches, in
// one transaction. Candidates go after it, in others: they may be in use for minutes.
func (s *Store) Collect(ctx context.Context, r store.Retention) (collected store.Collected, err error) {
	err = s.writeAlone(ctx, func(c *session) error {
		g := collection{
			s: s, c: c, young: s.now().Add(-store.CollectGrace).UnixNano(),
			versions: map[int64]bool{}, embeddings: map[int64]bool{}, recipes: map[store.Fingerprint]bool{},
		}
		if err := g.run(ctx, r); err != nil {
			return fmt.Errorf("collect: %w", err)
		}
		collected = g.collected
		if r.DryRun {
			return errDryRun
		}
		return nil
	})
	if errors.Is(err, errDryRun) {
		err = nil
	}
	if err != nil {
		return store.Collected{}, err
	}
	if !r.DryRun {
		s.collectCandidates(ctx)
	}
	return collected, nil
}

// collection is one run of the collector: what the retained snapshots reach, and what was
// removed so far.
type collection struct {
	s          *Store
	c          *session
	young      int64 // contents and segments put after this stay
	versions   map[int64]bool
	embeddings map[int64]bool
	recipes    map[store.Fingerprint]bool
	collected  store.Collected
}

func (g *collection) run(ctx context.Context, r store.Retention) error {
	codebases, err := g.c.codebases(ctx, "")
	if err != nil {
		return err
	}
	for _, b := range codebases {
		if err := g.codebase(ctx, b, r); err != nil {
			return fmt.Errorf("codebase %s: %w", b.ID, err)
		}
	}
	return g.sweep(ctx)
}

// codebase removes snapshots, the rows of the manifest that hold for none that is left,
// and the failures of files that none has.
func (g *collection) codebase(ctx context.Context, b store.Codebase, r store.Retention) error {
	all, err := g.c.snapshots(ctx, b.ID)
	if err != nil {
		return err
	}
	keep := r.Retained(b, plain(all))
	var gone []int64
	for _, n := range all {
		if !keep[n.Number] {
			gone = append(gone, int64(n.Number))
			continue
		}
		if err := g.markRecipe(ctx, n.Fingerprint); err != nil {
			return err
		}
	}
	g.collected.Snapshots += len(gone)
	if _, err := g.c.exec(ctx, "DELETE FROM snapshots WHERE tenant = $1 AND codebase = $2 AND number = ANY($3)", string(b.ID), gone); err != nil {
		return fmt.Errorf("remove snapshots: %w", err)
	}
	for _, statement := range []string{
		"DELETE FROM manifest AS m WHERE " + ended + " AND NOT " + held + " AND NOT " + wanted,
		"UPDATE manifest AS m SET content = NULL, size = 0, language = '', renamed = '' WHERE " + ended + " AND content IS NOT NULL AND NOT " + held,
		`DELETE FROM failures AS f WHERE tenant = $1 AND codebase = $2 AND NOT EXISTS (SELECT FROM manifest AS m
			WHERE m.tenant = $1 AND m.codebase = $2 AND m.path = f.path AND m.content = f.content)`,
	} {
		if _, err := g.c.exec(ctx, statement, string(b.ID)); err != nil {
			return fmt.Errorf("trim: %w", err)
		}
	}
	return nil
}

// Conditions on a row m of the manifest: that it ended, that a snapshot that is left holds
// its file, and that the delta of one wants to know that it ended. Rows of the latest
// snapshot have no end and stay; only ended ones are read.
const (
	ended = "m.tenant = $1 AND m.codebase = $2 AND m.last < 9223372036854775807"
	held  = `EXISTS (SELECT FROM snapshots AS n WHERE n.tenant = $1 AND n.codebase = $2
		AND m.first <= n.number AND n.number < m.last)`
	wanted = `EXISTS (SELECT FROM snapshots AS n WHERE n.tenant = $1 AND n.codebase = $2
		AND m.first <= n.base AND n.base < m.last AND m.last <= n.number)`
)

func (g *collection) markRecipe(ctx context.Context, fp store.Fingerprint) error {
	if g.recipes[fp] {
		return nil
	}
	g.recipes[fp] = true
	recipe, err := g.c.recipe(ctx, fp)
	if err != nil {
		return err
	}
	names := []string{recipe.SyntaxVersion("")}
	for language := range recipe.Grammars {
		names = append(names, recipe.SyntaxVersion(language))
	}
	for _, name := range names {
		id, err := g.s.name(ctx, g.c, name)
		if err != nil {
			return err
		}
		g.versions[id] = true
	}
	id, err := g.s.name(ctx, g.c, recipe.Embedding.Key())
	g.embeddings[id] = true
	return err
}

// sweep removes what the snapshots that are left do not reach.
func (g *collection) sweep(ctx context.Context) error {
	// An empty list is not null, which would be equal to nothing and differ from nothing.
	versions, embeddings := slices.AppendSeq([]int64{}, maps.Keys(g.versions)), slices.AppendSeq([]int64{}, maps.Keys(g.embeddings))
	recipes := make([]string, 0, len(g.recipes))
	for fp := range g.recipes {
		recipes = append(recipes, string(fp))
	}
	var bytes int64
	for _, step := range []struct {
		count     *int
		size      string
		statement string
		args      []any
	}{
		{&g.collected.Contents, "size", `contents AS x WHERE tenant = $1 AND put_at <= $2 AND NOT EXISTS (
			SELECT FROM manifest AS m WHERE m.tenant = $1 AND m.content = x.hash)`, []any{g.young}},
		{&g.collected.Syntaxes, "0::bigint", `syntaxes AS x WHERE tenant = $1 AND (version <> ALL($2) OR NOT EXISTS (
			SELECT FROM contents AS y WHERE y.tenant = $1 AND y.hash = x.content))`, []any{versions}},
		{nil, "0::bigint", `embedded AS x WHERE tenant = $1 AND (embedding <> ALL($2) OR NOT EXISTS (
			SELECT FROM syntaxes AS y WHERE y.tenant = $1 AND y.content = x.content AND y.version = x.version))`, []any{embeddings}},
		{&g.collected.Vectors, "0::bigint", `vectors AS x WHERE tenant = $1 AND (embedding <> ALL($2) OR NOT EXISTS (
			SELECT FROM (SELECT DISTINCT unnest(texts) AS text FROM syntaxes WHERE tenant = $1) AS y WHERE y.text = x.text))`, []any{embeddings}},
		{&g.collected.Segments, "bytes", `segments AS x WHERE tenant = $1 AND put_at <= $2 AND NOT EXISTS (
			SELECT FROM (SELECT unnest(segments) AS id FROM snapshots WHERE tenant = $1) AS y WHERE y.id = x.id)`, []any{g.young}},
		{nil, "0::bigint", "segment_parts AS x WHERE tenant = $1 AND NOT EXISTS (SELECT FROM segments AS y WHERE y.tenant = $1 AND y.id = x.segment)", nil},
		{nil, "0::bigint", "dead AS x WHERE tenant = $1 AND NOT EXISTS (SELECT FROM segments AS y WHERE y.tenant = $1 AND y.id = x.segment)", nil},
		{nil, "0::bigint", "leases AS x WHERE tenant = $1 AND name LIKE 'sync/%' AND NOT EXISTS (SELECT FROM codebases AS y WHERE y.tenant = $1 AND 'sync/' || y.id = x.name)", nil},
		{nil, "0::bigint", "recipes AS x WHERE tenant = $1 AND fingerprint <> ALL($2)", []any{recipes}},
	} {
		n, size, err := g.remove(ctx, step.statement, step.size, step.args)
		if err != nil {
			return err
		}
		bytes += size
		if step.count != nil {
			*step.count += n
		}
	}
	g.collected.Bytes += bytes
	return nil
}

// remove deletes rows and returns their number and the sum of a column.
func (g *collection) remove(ctx context.Context, from, size string, args []any) (n int, bytes int64, err error) {
	query := "WITH gone AS (DELETE FROM " + from + " RETURNING " + size + " AS size) SELECT count(*), coalesce(sum(size), 0)::bigint FROM gone"
	err = g.c.each(ctx, query, args, func(rows pgx.Rows) error { return rows.Scan(&n, &bytes) })
	if err != nil {
		return 0, 0, fmt.Errorf("sweep %.12q: %w", from, err)
	}
	g.c.written += int64(n)
	return n, bytes, nil
}
