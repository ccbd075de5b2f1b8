package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// Salvaged counts what Salvage took over.
type Salvaged struct {
	Codebases int
	Vectors   int
	Sessions  int
	// Lost says what was found and cannot be taken over, "" for nothing.
	Lost string
	// Skipped counts the rows and pages that could not be read.
	Skipped int
}

// salvageBatch is how many vectors are written in one transaction.
const salvageBatch = 2000

// Salvage fills an empty store with what cannot be made again from the files on disk for
// nothing: the registrations of codebases, the sessions, and the vectors, which a provider
// may ask money for. It reads the damaged store in dir row by row, whether or not that opens,
// takes what has its checksum, and changes nothing in dir. Contents, syntaxes and snapshots
// are left behind; Lost names the pinned ones. A directory without a database is an empty one.
func (s *Store) Salvage(ctx context.Context, dir string) (done Salvaged, err error) {
	v, closeFiles, err := openCarver(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return done, nil
	}
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, closeFiles()) }()
	small, err := carveSmall(ctx, v)
	if err != nil {
		return done, err
	}
	codebases, names := small.codebases, small.names
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
	for _, kept := range small.sessions {
		if err := s.PutSession(ctx, kept); err != nil {
			return done, fmt.Errorf("take over session %s: %w", kept.ID, err)
		}
		done.Sessions++
	}
	done.Lost = small.lost(codebases)
	return done, s.salvageVectors(ctx, v, names, &done)
}

// carvings are the rows of the small tables that were carved out of a database.
type carvings struct {
	codebases map[store.CodebaseID]store.Codebase
	keys      map[int64]store.CodebaseID
	names     map[int64][]string // of embeddings, by id
	sessions  map[string]store.Session
	pinned    map[int64]map[uint64]bool // snapshots, by the key of the codebase
}

// carveSmall carves the small tables. A name that stands under two ids tells nothing of the
// vectors of either.
func carveSmall(ctx context.Context, v *carver) (carvings, error) {
	found := carvings{
		codebases: map[store.CodebaseID]store.Codebase{}, keys: map[int64]store.CodebaseID{}, names: map[int64][]string{},
		sessions: map[string]store.Session{}, pinned: map[int64]map[uint64]bool{},
	}
	ids := map[string]map[int64]bool{}
	_, err := v.rows(func(row int64, columns []any) error {
		if c, ok := carvedCodebase(row, columns); ok {
			found.codebases[c.ID] = c
			found.keys[row] = c.ID
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
	for name, rows := range ids {
		if len(rows) > 1 {
			continue
		}
		for row := range rows {
			found.names[row] = append(found.names[row], name)
		}
	}
	if err != nil {
		return found, err
	}
	_, err = v.keyed(func(columns []any) error {
		if kept, ok := carvedSession(columns); ok && !kept.Until.Before(found.sessions[kept.ID].Until) {
			found.sessions[kept.ID] = kept
		}
		if key, number, pinned, ok := carvedSnapshot(columns); ok {
			if found.pinned[key] == nil {
				found.pinned[key] = map[uint64]bool{}
			}
			found.pinned[key][number] = pinned
		}
		return ctx.Err()
	})
	return found, err
}

// lost names the pinned snapshots, which are not taken over.
func (c carvings) lost(codebases map[store.CodebaseID]store.Codebase) string {
	var lost []string
	for key, numbers := range c.pinned {
		b, ok := codebases[c.keys[key]]
		if !ok {
			continue
		}
		var pinned []string
		for _, number := range slices.Sorted(maps.Keys(numbers)) {
			if numbers[number] {
				pinned = append(pinned, strconv.FormatUint(number, 10))
			}
		}
		if len(pinned) > 0 {
			lost = append(lost, fmt.Sprintf("%s of %s (%s)", strings.Join(pinned, ", "), b.Name, b.ID))
		}
	}
	if len(lost) == 0 {
		return ""
	}
	slices.Sort(lost)
	return "only it has the pinned snapshots " + strings.Join(lost, "; ") + ": pin snapshots of the new store in their place"
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
	s := &Store{dir: dir}
	if s.db, err = openReadOnly(dir); err != nil {
		return nil, err
	}
	defer func() {
		s.idle.close()
		err = errors.Join(err, s.db.Close())
	}()
	found = map[store.CodebaseID]store.Codebase{}
	return found, s.view(context.Background(), func(c *session) error {
		all, err := c.codebases("")
		for _, b := range all {
			found[b.ID] = b.Codebase
		}
		return err
	})
}

// CopyTo writes the database, as it is in this process, into a directory that has none, for
// Salvage: the files of an open database that was removed have no names.
func (s *Store) CopyTo(ctx context.Context, dir string) error {
	return s.alone(ctx, func(c *session) error {
		if _, err := c.conn.ExecContext(ctx, "VACUUM INTO ?", filepath.Join(dir, fileName)); err != nil {
			return fmt.Errorf("copy the database to %s: %w", dir, err)
		}
		return nil
	})
}
