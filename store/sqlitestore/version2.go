package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/freshet/freshet/migrations"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/checksum"
	"github.com/freshet/freshet/store/rules"
	"github.com/freshet/freshet/sync/merkle"
)

// columnsVersion is the version of the schema from which on rows are columns.
const columnsVersion = 4

// moveVersion2 is the migration to version 4 of the schema: until version 2 the words of the
// store were encoded in blobs, with the checksum of the row at the end. It moves them to
// the columns that version 3 made. A row that is damaged is moved as one whose checksum does
// not match either, so that it is reported, and costs, what it did before. The way down
// leaves the tables empty: registrations, snapshots and failures are forgotten.
func moveVersion2() migrations.Step {
	return migrations.Step{
		Version: columnsVersion, Name: "00004_move_rows",
		Up: func(ctx context.Context, tx *sql.Tx) error {
			m := &version2Rows{ctx: ctx, tx: tx}
			for _, table := range version2Tables() {
				if err := m.move(table); err != nil {
					return fmt.Errorf("move table %s: %w", table.name, err)
				}
			}
			return m.finish()
		},
		Down: func(ctx context.Context, tx *sql.Tx) error {
			for _, table := range version2Tables() {
				if _, err := tx.ExecContext(ctx, "CREATE TABLE old_"+table.name+" ("+table.made+")"); err != nil {
					return err
				}
			}
			_, err := tx.ExecContext(ctx, "PRAGMA user_version = 3")
			return err
		},
	}
}

// version2Table is a table whose rows were encoded in blobs.
type version2Table struct {
	name string
	made string // its columns in CREATE TABLE, for the way down
	// query reads it; row decodes a row and returns where it belongs and what it holds.
	query string
	row   func(m *version2Rows, values []any) (table, columns string, w columns, err error)
}

// version2Rows moves rows.
type version2Rows struct {
	ctx    context.Context
	tx     *sql.Tx
	epoch  string
	at     store.LogPosition
	header error
}

func (m *version2Rows) move(t version2Table) (err error) {
	found, err := m.tx.QueryContext(m.ctx, t.query)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, found.Close()) }()
	names, err := found.Columns()
	if err != nil {
		return err
	}
	statements := map[string]*sql.Stmt{}
	defer func() {
		for _, stmt := range statements {
			err = errors.Join(err, stmt.Close())
		}
	}()
	for found.Next() {
		values, dest := make([]any, len(names)), make([]any, len(names))
		for i := range values {
			dest[i] = &values[i]
		}
		if err := found.Scan(dest...); err != nil {
			return err
		}
		table, columns, w, damage := t.row(m, values)
		if table == "" {
			continue
		}
		args := w.summed(table)
		if damage != nil {
			args[len(args)-1] = ^args[len(args)-1].(int64)
		}
		if statements[table] == nil {
			if statements[table], err = m.tx.PrepareContext(m.ctx, put(table, columns, 1)); err != nil {
				return err
			}
		}
		// A damaged row that no constraint allows is missed where it is damaged now.
		if _, err := statements[table].ExecContext(m.ctx, args...); err != nil && damage == nil {
			return err
		}
	}
	return found.Err()
}

// finish writes the row of the store and drops what was moved.
func (m *version2Rows) finish() error {
	var w columns
	w.int(1)
	w.text(m.epoch)
	w.text(m.at.Incarnation)
	w.uint(m.at.Sequence)
	args := w.summed("store")
	if m.header != nil {
		args[len(args)-1] = ^args[len(args)-1].(int64)
	}
	var statements []string
	if m.epoch != "" || m.header != nil {
		if _, err := m.tx.ExecContext(m.ctx, put("store", storeColumns, 1), args...); err != nil {
			return err
		}
	}
	for _, table := range []string{"codebases", "segments"} { // whose keys are never given again
		statements = append(statements, "DELETE FROM sqlite_sequence WHERE name = '"+table+"'",
			"INSERT INTO sqlite_sequence (name, seq) SELECT '"+table+"', seq FROM sqlite_sequence WHERE name = 'old_"+table+"'")
	}
	for _, table := range version2Tables() {
		statements = append(statements, "DROP TABLE old_"+table.name)
	}
	for _, statement := range append(statements, "PRAGMA user_version = 4") {
		if _, err := m.tx.ExecContext(m.ctx, statement); err != nil {
			return fmt.Errorf("%.40q: %w", statement, err)
		}
	}
	return nil
}

func version2Tables() []version2Table {
	return []version2Table{
		{"meta", "name TEXT PRIMARY KEY, body BLOB NOT NULL", "SELECT name, body FROM old_meta", (*version2Rows).meta},
		{
			"codebases", "key INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, root BLOB NOT NULL UNIQUE, body BLOB NOT NULL",
			"SELECT key, id, root, body FROM old_codebases", (*version2Rows).codebase,
		},
		{
			"snapshots", "codebase INTEGER NOT NULL, number INTEGER NOT NULL, body BLOB NOT NULL, PRIMARY KEY (codebase, number)",
			"SELECT codebase, number, body FROM old_snapshots", (*version2Rows).snapshot,
		},
		{
			"manifest", "codebase INTEGER NOT NULL, path BLOB NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, body BLOB NOT NULL," +
				" PRIMARY KEY (codebase, path, first)",
			"SELECT codebase, path, first, last, body FROM old_manifest", (*version2Rows).file,
		},
		{
			"stats", "codebase INTEGER NOT NULL, path BLOB NOT NULL, body BLOB NOT NULL, PRIMARY KEY (codebase, path)",
			"SELECT codebase, path, body FROM old_stats", (*version2Rows).stat,
		},
		{
			"segments", "id INTEGER PRIMARY KEY AUTOINCREMENT, body BLOB NOT NULL",
			"SELECT id, body FROM old_segments", (*version2Rows).segment,
		},
		{
			"dead", "segment INTEGER NOT NULL, since INTEGER NOT NULL, body BLOB NOT NULL, PRIMARY KEY (segment, since)",
			"SELECT segment, since, body FROM old_dead", (*version2Rows).dead,
		},
		{
			"failures", "codebase INTEGER NOT NULL, path BLOB NOT NULL, content BLOB NOT NULL, stage TEXT NOT NULL, version TEXT NOT NULL," +
				" body BLOB NOT NULL, PRIMARY KEY (codebase, path, content, stage, version)",
			"SELECT codebase, path, content, stage, version, body FROM old_failures", (*version2Rows).failure,
		},
	}
}

// meta held the epoch, the log position and the leases.
func (m *version2Rows) meta(values []any) (table, columnNames string, w columns, err error) {
	name, body := as[string](values[0]), as[[]byte](values[1])
	value, err := checksum.Cut(body, "meta", []byte(name))
	r := reader{buf: value}
	lease, isLease := strings.CutPrefix(name, "lease ")
	switch {
	case name == "epoch":
		m.epoch, m.header = string(value), firstError(m.header, err)
	case name == "log position":
		m.at = store.LogPosition{Incarnation: r.string(), Sequence: r.uint()}
		m.header = firstError(m.header, err)
	case isLease:
		w.text(lease)
		w.bytes(r.string())
		w.uint(r.uint())
		w.time(r.time())
		return "leases", leaseColumns, w, err
	}
	return "", "", w, nil
}

func (m *version2Rows) codebase(values []any) (table, columnNames string, w columns, err error) {
	b, err := version2Codebase(as[int64](values[0]), as[string](values[1]), as[[]byte](values[2]), as[[]byte](values[3]))
	w.codebase(b)
	return "codebases", codebaseColumns, w, err
}

// version2Codebase decodes a row of version 2. Of a damaged one it returns the key, the id and
// the root.
func version2Codebase(key int64, id string, site, body []byte) (codebase, error) {
	b := codebase{key: key}
	value, err := checksum.Cut(body, "codebases", number(key), []byte(id), site)
	r := reader{buf: value}
	b.Codebase = store.Codebase{
		ID: store.CodebaseID(id), Root: string(site), Name: r.string(), Identity: store.RootIdentity{Device: r.uint(), Inode: r.uint()},
		RegisteredAt: r.time(), Current: r.uint(), Latest: r.uint(), Failure: r.string(),
	}
	if place, root, ok := strings.Cut(b.Root, "\x00"); ok {
		b.Place, b.Root = place, root
	}
	return b, firstError(err, r.end("codebase"))
}

func (m *version2Rows) snapshot(values []any) (table, columnNames string, w columns, err error) {
	key := as[int64](values[0])
	n, err := version2Snapshot(key, as[int64](values[1]), as[[]byte](values[2]))
	w.snapshot(key, n)
	return "snapshots", snapshotColumns, w, err
}

// version2Snapshot decodes a row of version 2. Of a damaged one it returns the number.
func version2Snapshot(key, num int64, body []byte) (rules.Snapshot, error) {
	value, err := checksum.Cut(body, "snapshots", number(key), number(num))
	r := reader{buf: value}
	n := rules.Snapshot{Snapshot: store.Snapshot{
		Number: uint64(num), Parent: r.uint(), Base: r.uint(), Fingerprint: store.Fingerprint(r.string()), Root: r.hash(), Level: store.Level(r.uint()),
		Abandoned: r.bool(), Rebuild: r.bool(), OpenedAt: r.time(), SealedAt: r.time(), Files: int(r.uint()), Bytes: r.int(), Changed: int(r.uint()),
		Pinned: r.bool(), Ref: r.string(),
	}}
	for range min(r.uint(), uint64(len(r.buf))) {
		n.Segments = append(n.Segments, store.SegmentID(r.uint()))
	}
	return n, firstError(err, r.end("snapshot"))
}

func (m *version2Rows) file(values []any) (table, columnNames string, w columns, err error) {
	key, path := as[int64](values[0]), as[[]byte](values[1])
	f := fileRow{first: as[int64](values[2]), last: as[int64](values[3])}
	value, err := checksum.Cut(as[[]byte](values[4]), "manifest", number(key), path, number(f.first), number(f.last))
	f.tombstone = err == nil && len(value) == 0
	r := reader{buf: value}
	f.FileEntry = store.FileEntry{
		Content: r.hash(), Size: r.int(), Language: r.string(), Flags: store.FileFlags(r.uint()), RenamedFrom: r.string(),
	}
	f.Path = string(path)
	w.file(key, f)
	return "manifest", fileColumns, w, err
}

func (m *version2Rows) stat(values []any) (table, columnNames string, w columns, err error) {
	key, path := as[int64](values[0]), as[[]byte](values[1])
	value, err := checksum.Cut(as[[]byte](values[2]), "stats", number(key), path)
	r := reader{buf: value}
	e := store.StatEntry{
		Path: string(path), Dir: r.bool(),
		Stat: store.Stat{Size: r.int(), MtimeNs: r.int(), CtimeNs: r.int(), Device: r.uint(), Inode: r.uint(), Mode: uint32(r.uint())},
		Racy: r.bool(), Flags: store.FileFlags(r.uint()), Language: r.string(), LeftOut: store.LeftOut(r.string()),
	}
	if r.bool() {
		e.XX, e.Content = r.uint(), r.hash()
	}
	w.stat(key, e)
	return "stats", statColumns, w, err
}

func (m *version2Rows) segment(values []any) (table, columnNames string, w columns, err error) {
	id := as[int64](values[0])
	value, err := checksum.Cut(as[[]byte](values[1]), "segments", number(id))
	r := reader{buf: value}
	g := segment{
		ref:  store.SegmentRef{ID: store.SegmentID(id), Files: int(r.uint()), Chunks: int(r.uint()), Bytes: r.int()},
		hash: r.uint(), putAt: r.int(),
	}
	w.segment(g)
	return "segments", segmentColumns, w, err
}

func (m *version2Rows) dead(values []any) (table, columnNames string, w columns, err error) {
	id, since := as[int64](values[0]), as[int64](values[1])
	value, err := checksum.Cut(as[[]byte](values[2]), "dead", number(id), number(since))
	r := reader{buf: value}
	var ordinals []uint32
	last := uint64(0)
	for range min(r.uint(), uint64(len(r.buf))) {
		last += r.uint()
		ordinals = append(ordinals, uint32(last))
	}
	w.int(id)
	w.int(since)
	w.text(list(ordinals))
	return "dead", deadColumns, w, err
}

func (m *version2Rows) failure(values []any) (table, columnNames string, w columns, err error) {
	key, path, content := as[int64](values[0]), as[[]byte](values[1]), as[[]byte](values[2])
	f := store.Failure{Path: string(path), Stage: store.Stage(as[string](values[3])), Version: as[string](values[4])}
	copy(f.Content[:], content)
	value, err := checksum.Cut(as[[]byte](values[5]), "failures", number(key), path, content, []byte(f.Stage), []byte(f.Version))
	r := reader{buf: value}
	f.Tries, f.Reason, f.Parked, f.At = int(r.uint()), r.string(), r.bool(), r.time()
	w.failure(key, f)
	return "failures", failureColumns, w, err
}

// as is a value that has a type, or its zero.
func as[T any](v any) T {
	t, _ := v.(T)
	return t
}

func (r *reader) string() string { return string(r.take(r.uint())) }

func (r *reader) hash() (h merkle.Hash) {
	copy(h[:], r.take(uint64(len(h))))
	return h
}

func (r *reader) bool() bool {
	b := r.take(1)
	return len(b) == 1 && b[0] == 1
}

func (r *reader) time() time.Time {
	if !r.bool() {
		return time.Time{}
	}
	seconds := r.int()
	return time.Unix(seconds, int64(r.uint())).UTC()
}
