package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// Salvaged counts what Salvage took over.
type Salvaged struct {
	Codebases int
	Vectors   int
	// Skipped counts the rows and pages that could not be read.
	Skipped int
}

// salvageBatch is how many vectors are written in one transaction.
const salvageBatch = 2000

// Salvage fills an empty store with what cannot be made again from the files on disk for
// nothing: the registrations of codebases and the vectors, which a provider may ask money
// for. It reads the damaged store in dir row by row, whether or not that opens, takes what
// has its checksum, and changes nothing in dir. Contents, syntaxes and snapshots are left
// behind. A directory without a database is an empty one.
func (s *Store) Salvage(ctx context.Context, dir string) (done Salvaged, err error) {
	v, closeFiles, err := openCarver(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return done, nil
	}
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, closeFiles()) }()
	codebases, names, err := carveNames(ctx, v)
	if err != nil {
		return done, err
	}
	if listed, err := listCodebases(dir); err == nil {
		codebases = listed // free pages may hold registrations that were cleared
	}
	for _, c := range codebases {
		c.Current, c.Latest, c.Failure = 0, 0, ""
		if _, err := s.Register(ctx, c); err != nil {
			return done, fmt.Errorf("take over codebase %s: %w", c.ID, err)
		}
		done.Codebases++
	}
	return done, s.salvageVectors(ctx, v, names, &done)
}

// carveNames carves the registrations and the names of embeddings. A name that stands under two
// ids tells nothing of the vectors of either.
func carveNames(ctx context.Context, v *carver) (codebases map[store.CodebaseID]store.Codebase, names map[int64][]string, err error) {
	codebases = map[store.CodebaseID]store.Codebase{}
	ids := map[string]map[int64]bool{}
	_, err = v.rows(func(row int64, columns []any) error {
		if c, ok := carvedCodebase(row, columns); ok {
			codebases[c.ID] = c
		}
		if len(columns) == 2 && columns[0] == nil {
			if name, ok := columns[1].(string); ok {
				if ids[name] == nil {
					ids[name] = map[int64]bool{}
				}
				ids[name][row] = true
			}
		}
		return ctx.Err()
	})
	names = map[int64][]string{}
	for name, rows := range ids {
		if len(rows) > 1 {
			continue
		}
		for row := range rows {
			names[row] = append(names[row], name)
		}
	}
	return codebases, names, err
}

// salvageVectors copies the vectors that have their checksum.
func (s *Store) salvageVectors(ctx context.Context, v *carver, names map[int64][]string, done *Salvaged) error {
	batches := map[string][]store.VectorRecord{}
	flush := func(name string) error {
		records := batches[name]
		delete(batches, name)
		done.Vectors += len(records)
		return s.PutVectors(ctx, name, records, nil)
	}
	skipped, err := v.rows(func(_ int64, columns []any) error {
		embedding, text, body, ok := carvedVector(columns)
		if !ok {
			return nil
		}
		vector, err := decodeVector(embedding, text, body)
		if err != nil {
			done.Skipped++
			return nil
		}
		for _, name := range names[embedding] {
			batches[name] = append(batches[name], store.VectorRecord{TextHash: text, Vector: vector})
			if len(batches[name]) < salvageBatch {
				continue
			}
			if err := flush(name); err != nil {
				return err
			}
		}
		return ctx.Err()
	})
	done.Skipped += skipped
	for name := range batches {
		err = firstError(err, flush(name))
	}
	if err != nil {
		return fmt.Errorf("take over vectors: %w", err)
	}
	return nil
}

// carvedVector tells whether a carved row is one of the table of vectors.
func carvedVector(columns []any) (embedding int64, text merkle.Hash, body []byte, ok bool) {
	if len(columns) != 4 || columns[0] != nil {
		return 0, text, nil, false
	}
	embedding, isNumber := columns[1].(int64)
	hash, isBlob := columns[2].([]byte)
	body, isBody := columns[3].([]byte)
	if !isNumber || !isBlob || !isBody || len(hash) != len(text) {
		return 0, text, nil, false
	}
	return embedding, merkle.Hash(hash), body, true
}

// listCodebases lists the registrations of a database that SQLite can still read, row by
// row. It changes nothing.
func listCodebases(dir string) (found map[store.CodebaseID]store.Codebase, err error) {
	db, err := openReadOnly(dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	rows, err := db.QueryContext(context.Background(), "SELECT key, id, root, body FROM codebases")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	found = map[store.CodebaseID]store.Codebase{}
	for rows.Next() {
		var b codebase
		if err := b.scan(rows); err != nil {
			return nil, err
		}
		found[b.ID] = b.Codebase
	}
	return found, rows.Err()
}

// openReadOnly opens the database in dir for reading only.
func openReadOnly(dir string) (*sql.DB, error) {
	s := &Store{dir: dir}
	return sql.Open("sqlite", s.dsn("mode=ro&"+readerParameters))
}
