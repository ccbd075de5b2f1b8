package pgstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/rules"
)

// errDryRun rolls a collection back.
var errDryRun = errors.New("dry run")

// Collect removes snapshots beyond the retention and what none of the others reaches, in
// one transaction. Candidates go after it, in others: they may be in use for minutes.
func (s *Store) Collect(ctx context.Context, retention store.Retention) (collected store.Collected, err error) {
	err = s.changeAlone(ctx, func(r rows) error {
		if collected, err = rules.Collect(ctx, r, retention, s.now()); err != nil {
			return err
		}
		if retention.DryRun {
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
	if !retention.DryRun {
		s.collectCandidates(ctx)
	}
	return collected, nil
}

// DropSnapshots drops snapshots.
func (r rows) DropSnapshots(ctx context.Context, id store.CodebaseID, numbers []uint64) error {
	if len(numbers) == 0 {
		return nil
	}
	gone := make([]int64, len(numbers))
	for i, n := range numbers {
		gone[i] = int64(n)
	}
	if _, err := r.c.exec(ctx, "DELETE FROM snapshots WHERE tenant = $1 AND codebase = $2 AND number = ANY($3)", string(id), gone); err != nil {
		return fmt.Errorf("drop snapshots: %w", err)
	}
	return nil
}

// TrimManifest removes the rows of the manifest that hold for no snapshot in the table.
func (r rows) TrimManifest(ctx context.Context, id store.CodebaseID, _ []rules.Snapshot) error {
	err := r.c.all(ctx, []string{
		"DELETE FROM manifest AS m WHERE " + ended + " AND NOT " + held + " AND NOT " + wanted,
		"UPDATE manifest AS m SET content = NULL, size = 0, language = '', renamed = '' WHERE " + ended + " AND content IS NOT NULL AND NOT " + held,
	}, string(id))
	if err != nil {
		return fmt.Errorf("trim: %w", err)
	}
	return nil
}

// TrimFailures removes failures of files that no snapshot has.
func (r rows) TrimFailures(ctx context.Context, id store.CodebaseID) error {
	_, err := r.c.exec(ctx, `DELETE FROM failures AS f WHERE tenant = $1 AND codebase = $2 AND NOT EXISTS (SELECT FROM manifest AS m
		WHERE m.tenant = $1 AND m.codebase = $2 AND m.path = f.path AND m.content = f.content)`, string(id))
	if err != nil {
		return fmt.Errorf("drop failures: %w", err)
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

// names are the ids of names.
func (r rows) names(ctx context.Context, names []string) ([]int64, error) {
	ids := []int64{} // not null, which would be equal to nothing and differ from nothing
	for _, name := range names {
		id, err := r.s.name(ctx, r.c, name)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// Sweep removes what no snapshot reaches.
func (r rows) Sweep(ctx context.Context, young time.Time, reached rules.Reached) (collected store.Collected, err error) {
	versions, err := r.names(ctx, reached.Versions)
	if err != nil {
		return collected, err
	}
	embeddings, err := r.names(ctx, reached.Embeddings)
	if err != nil {
		return collected, err
	}
	recipes := make([]string, 0, len(reached.Recipes))
	for _, fp := range reached.Recipes {
		recipes = append(recipes, string(fp))
	}
	at := young.UnixNano()
	for _, step := range []struct {
		count     *int
		size      string
		statement string
		args      []any
	}{
		{&collected.Contents, "size", `contents AS x WHERE tenant = $1 AND put_at <= $2 AND NOT EXISTS (
			SELECT FROM manifest AS m WHERE m.tenant = $1 AND m.content = x.hash)`, []any{at}},
		{&collected.Syntaxes, "0::bigint", `syntaxes AS x WHERE tenant = $1 AND (version <> ALL($2) OR NOT EXISTS (
			SELECT FROM contents AS y WHERE y.tenant = $1 AND y.hash = x.content))`, []any{versions}},
		{nil, "0::bigint", `embedded AS x WHERE tenant = $1 AND (embedding <> ALL($2) OR NOT EXISTS (
			SELECT FROM syntaxes AS y WHERE y.tenant = $1 AND y.content = x.content AND y.version = x.version))`, []any{embeddings}},
		{&collected.Vectors, "0::bigint", `vectors AS x WHERE tenant = $1 AND (embedding <> ALL($2) OR NOT EXISTS (
			SELECT FROM (SELECT DISTINCT unnest(texts) AS text FROM syntaxes WHERE tenant = $1) AS y WHERE y.text = x.text))`, []any{embeddings}},
		{&collected.Segments, "bytes", `segments AS x WHERE tenant = $1 AND put_at <= $2 AND NOT EXISTS (
			SELECT FROM (SELECT unnest(segments) AS id FROM snapshots WHERE tenant = $1) AS y WHERE y.id = x.id)`, []any{at}},
		{nil, "0::bigint", "segment_parts AS x WHERE tenant = $1 AND NOT EXISTS (SELECT FROM segments AS y WHERE y.tenant = $1 AND y.id = x.segment)", nil},
		{nil, "0::bigint", "dead AS x WHERE tenant = $1 AND NOT EXISTS (SELECT FROM segments AS y WHERE y.tenant = $1 AND y.id = x.segment)", nil},
		{nil, "0::bigint", "leases AS x WHERE tenant = $1 AND name LIKE 'sync/%' AND NOT EXISTS (SELECT FROM codebases AS y WHERE y.tenant = $1 AND 'sync/' || y.id = x.name)", nil},
		{nil, "0::bigint", "recipes AS x WHERE tenant = $1 AND fingerprint <> ALL($2)", []any{recipes}},
	} {
		n, size, err := r.remove(ctx, step.statement, step.size, step.args)
		if err != nil {
			return collected, err
		}
		collected.Bytes += size
		if step.count != nil {
			*step.count += n
		}
	}
	return collected, nil
}

// remove deletes rows and returns their number and the sum of a column.
func (r rows) remove(ctx context.Context, from, size string, args []any) (n int, bytes int64, err error) {
	query := "WITH gone AS (DELETE FROM " + from + " RETURNING " + size + " AS size) SELECT count(*), coalesce(sum(size), 0)::bigint FROM gone"
	err = r.c.each(ctx, query, args, func(rows pgx.Rows) error { return rows.Scan(&n, &bytes) })
	if err != nil {
		return 0, 0, fmt.Errorf("sweep %.12q: %w", from, err)
	}
	r.c.written += int64(n)
	return n, bytes, nil
}
