package migrations

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"

	"github.com/freshet/freshet/store"
)

//go:embed sqlite/*.sql postgres/*.sql
var files embed.FS

// Migration is one numbered step of a schema.
type Migration struct {
	Version int64
	Name    string
	// Checksum is the SHA-256 of the file, or of the name of a step, in hexadecimal digits.
	Checksum string
}

// Step is a migration in Go, for rows that SQL cannot decode. Up and Down run in the
// transaction of their migration.
type Step struct {
	Version  int64
	Name     string
	Up, Down func(ctx context.Context, tx *sql.Tx) error
}

// Set is a schema: its migrations in order, with the files and steps that hold them.
type Set struct {
	dialect    dialect
	files      fs.FS
	steps      []Step
	migrations []Migration
}

// SQLite returns the schema of the embedded store, whose steps are the store's.
func SQLite(steps ...Step) (*Set, error) {
	sub, err := fs.Sub(files, "sqlite")
	if err != nil {
		return nil, fmt.Errorf("open migrations: %w", err)
	}
	return NewSet(sub, steps...)
}

// Postgres returns the schema of the shared store.
func Postgres() (*Set, error) {
	sub, err := fs.Sub(files, "postgres")
	if err != nil {
		return nil, fmt.Errorf("open migrations: %w", err)
	}
	return NewPostgresSet(sub)
}

// NewSet reads a schema for SQLite from the SQL files at the top of fsys, which are named
// <version>_<name>.sql.
func NewSet(fsys fs.FS, steps ...Step) (*Set, error) { return newSet(sqliteDialect(), fsys, steps...) }

// NewPostgresSet is NewSet for PostgreSQL. The migrations go to the current schema, one
// process at a time.
func NewPostgresSet(fsys fs.FS) (*Set, error) { return newSet(postgresDialect(), fsys) }

func newSet(d dialect, fsys fs.FS, steps ...Step) (*Set, error) {
	names, err := fs.Glob(fsys, "*.sql")
	if err != nil {
		return nil, fmt.Errorf("list migrations: %w", err)
	}
	sort.Strings(names)
	set := &Set{dialect: d, files: fsys, steps: steps}
	for _, name := range names {
		digits, _, _ := strings.Cut(path.Base(name), "_")
		version, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || version < 1 {
			return nil, fmt.Errorf("migration %s: the name does not begin with its number", name)
		}
		text, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, fmt.Errorf("read migration: %w", err)
		}
		sum := sha256.Sum256(text)
		set.migrations = append(set.migrations, Migration{version, name, hex.EncodeToString(sum[:])})
	}
	for _, step := range steps { // code has no text to sum: its name stands for it
		sum := sha256.Sum256([]byte(step.Name))
		set.migrations = append(set.migrations, Migration{step.Version, step.Name, hex.EncodeToString(sum[:])})
	}
	slices.SortFunc(set.migrations, func(a, b Migration) int { return cmp.Compare(a.Version, b.Version) })
	return set, nil
}

// Newest is the version of the schema after every migration.
func (s *Set) Newest() int64 {
	if len(s.migrations) == 0 {
		return 0
	}
	return s.migrations[len(s.migrations)-1].Version
}

// Apply brings a database to the newest version. It writes nothing when it is there
// already. It returns store.ErrNewerSchema when the database has a migration that the set
// does not know, and store.ErrMigrationModified when one was applied with another text.
func (s *Set) Apply(ctx context.Context, db *sql.DB) error {
	applied, err := s.applied(ctx, db)
	if err != nil {
		return err
	}
	if err := s.verify(applied); err != nil {
		return err
	}
	if len(applied) == len(s.migrations) {
		return nil
	}
	provider, err := s.provider(db)
	if err != nil {
		return err
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("apply migrations: %w", err)
	}
	return nil
}

// State is the version of a database's schema, 0 before the first migration. It changes
// nothing, and returns the errors of Apply for a schema that the set does not know.
func (s *Set) State(ctx context.Context, db *sql.DB) (version int64, err error) {
	applied, err := s.applied(ctx, db)
	if err != nil {
		return 0, err
	}
	for v := range applied {
		version = max(version, v)
	}
	return version, s.verify(applied)
}

// Down undoes the newest migration of a database.
func (s *Set) Down(ctx context.Context, db *sql.DB) error {
	provider, err := s.provider(db)
	if err != nil {
		return err
	}
	if _, err := provider.Down(ctx); err != nil {
		return fmt.Errorf("undo migration: %w", err)
	}
	return nil
}

func (s *Set) provider(db *sql.DB) (*goose.Provider, error) {
	versions, err := database.NewStore(s.dialect.goose, "schema_versions")
	if err != nil {
		return nil, fmt.Errorf("open migrations: %w", err)
	}
	var inGo []*goose.Migration
	for _, step := range s.steps {
		inGo = append(inGo, goose.NewGoMigration(step.Version, &goose.GoFunc{RunTx: step.Up}, &goose.GoFunc{RunTx: step.Down}))
	}
	provider, err := goose.NewProvider("", db, s.files, append([]goose.ProviderOption{
		goose.WithGoMigrations(inGo...),
		goose.WithStore(&ledger{Store: versions, set: s}),
		goose.WithDisableGlobalRegistry(true),
		goose.WithLogger(goose.NopLogger()),
	}, s.dialect.options...)...)
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	return provider, nil
}

// verify compares what was applied with what the set holds.
func (s *Set) verify(applied map[int64]string) error {
	known := map[int64]Migration{}
	for _, m := range s.migrations {
		known[m.Version] = m
	}
	for version, checksum := range applied {
		m, ok := known[version]
		switch {
		case version > s.Newest():
			return fmt.Errorf("schema version %d, this binary knows %d: %w", version, s.Newest(), store.ErrNewerSchema)
		case !ok:
			return fmt.Errorf("migration %d was applied and is gone: %w", version, store.ErrMigrationModified)
		case m.Checksum != checksum:
			return fmt.Errorf("migration %s: %w", m.Name, store.ErrMigrationModified)
		}
	}
	return nil
}

// applied reads the ledger: the checksum of each migration applied.
func (s *Set) applied(ctx context.Context, db *sql.DB) (applied map[int64]string, err error) {
	applied = map[int64]string{}
	var n int
	err = db.QueryRowContext(ctx, s.dialect.hasLedger).Scan(&n)
	if err != nil || n == 0 {
		return applied, err
	}
	rows, err := db.QueryContext(ctx, "SELECT version, checksum FROM schema_checksums")
	if err != nil {
		return nil, fmt.Errorf("read checksums of migrations: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var version int64
		var checksum string
		if err := rows.Scan(&version, &checksum); err != nil {
			return nil, fmt.Errorf("read checksums of migrations: %w", err)
		}
		if sum, err := hex.DecodeString(checksum); err != nil || len(sum) != sha256.Size {
			return nil, fmt.Errorf("migration %d has %q for a checksum: %w", version, checksum, store.ErrCorrupt)
		}
		applied[version] = checksum
	}
	return applied, rows.Err()
}
