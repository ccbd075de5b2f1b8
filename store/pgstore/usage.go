package pgstore

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/freshet/freshet/store"
)

// Usage counts what the store of the tenant holds. DirectoryUsed is the size of all tables
// with their indexes, those of other tenants included.
func (s *Store) Usage(ctx context.Context) (u store.Usage, err error) {
	const query = `SELECT
		(SELECT count(*) FROM contents WHERE tenant = $1),
		(SELECT coalesce(sum(size), 0)::bigint FROM contents WHERE tenant = $1),
		(SELECT coalesce(sum(octet_length(body)), 0)::bigint FROM contents WHERE tenant = $1),
		(SELECT count(*) FROM syntaxes WHERE tenant = $1),
		(SELECT count(*) FROM vectors WHERE tenant = $1),
		(SELECT count(*) FROM segments WHERE tenant = $1),
		(SELECT coalesce(sum(bytes), 0)::bigint FROM segments WHERE tenant = $1),
		(SELECT count(*) FROM manifest WHERE tenant = $1),
		(SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class
			WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r')`
	err = s.view(ctx, func(c *tx) error {
		return c.each(ctx, query, nil, func(rows pgx.Rows) error {
			return rows.Scan(&u.Contents, &u.ContentBytes, &u.StoredBytes, &u.Syntaxes, &u.Vectors, &u.Segments, &u.SegmentBytes,
				&u.ManifestRows, &u.DirectoryUsed)
		})
	})
	if err != nil {
		return store.Usage{}, fmt.Errorf("usage: %w", err)
	}
	return u, nil
}
