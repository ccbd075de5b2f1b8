package migrations_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"go.uber.org/goleak"

	"github.com/freshet/freshet/migrations"
	"github.com/freshet/freshet/store"
	_ "github.com/freshet/freshet/store/sqlitestore" // links the engine
)

const (
	fileEnv = "FRESHET_MIGRATIONS_TEST_FILE"
	stepEnv = "FRESHET_MIGRATIONS_TEST_STEP"
)

func TestMain(m *testing.M) {
	if os.Getenv(fileEnv) != "" {
		childMigrates()
		return
	}
	goleak.VerifyTestMain(m)
}

// steps are three migrations; die() is called between their statements.
func steps() fstest.MapFS {
	files := fstest.MapFS{}
	for i := 1; i <= 3; i++ {
		files[fmt.Sprintf("%05d_step.sql", i)] = &fstest.MapFile{Data: fmt.Appendf(nil, `-- +goose Up
SELECT die();
CREATE TABLE step%[1]d (x INTEGER);
SELECT die();
INSERT INTO step%[1]d VALUES (%[1]d);
SELECT die();
PRAGMA user_version = %[1]d;
SELECT die();
-- +goose Down
DROP TABLE step%[1]d;
PRAGMA user_version = %[2]d;
`, i, i-1)}
	}
	return files
}

// childMigrates applies the steps and is killed at the call of die() that it was told.
func childMigrates() {
	last, err := strconv.Atoi(os.Getenv(stepEnv))
	if err != nil {
		panic(err)
	}
	calls := 0
	register(func() {
		if calls++; calls == last {
			if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
				panic(err)
			}
		}
	})
	if err := apply(context.Background(), "dying", os.Getenv(fileEnv), steps()); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(0)
}

// register makes "dying" the engine with a function die(), which calls fn.
func register(fn func()) {
	db, err := sql.Open("sqlite", "")
	if err != nil {
		panic(err)
	}
	sql.Register("dying", dyingDriver{db.Driver(), fn})
}

type dyingDriver struct {
	driver.Driver
	die func()
}

// Open opens a database of the engine.
func (d dyingDriver) Open(name string) (driver.Conn, error) {
	conn, err := d.Driver.Open(name)
	if err != nil {
		return nil, err
	}
	return dyingConn{conn.(engineConn), d.die}, nil
}

type engineConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
}

type dyingConn struct {
	engineConn
	die func()
}

// ExecContext runs a statement, or calls die.
func (c dyingConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if strings.Contains(query, "SELECT die()") {
		c.die()
		return driver.ResultNoRows, nil
	}
	return c.engineConn.ExecContext(ctx, query, args)
}

func connect(engine, file string) (*sql.DB, error) {
	return sql.Open(engine, "file:"+file+"?_journal_mode=WAL&_txlock=immediate")
}

func apply(ctx context.Context, engine, file string, files fstest.MapFS) error {
	set, err := migrations.NewSet(files)
	if err != nil {
		return err
	}
	db, err := connect(engine, file)
	if err != nil {
		return err
	}
	return errors.Join(set.Apply(ctx, db), db.Close())
}

// quiet are the steps without calls of die(), in the test's own process.
func quiet() fstest.MapFS {
	files := steps()
	for _, f := range files {
		f.Data = []byte(strings.ReplaceAll(string(f.Data), "SELECT die();\n", ""))
	}
	return files
}

// TestKilledAtEachStep kills a migrating process at every statement. The next one resumes.
func TestKilledAtEachStep(t *testing.T) {
	t.Parallel()
	const calls = 3 * 4
	for step := 1; step <= calls; step++ {
		file := filepath.Join(t.TempDir(), "x.db")
		run := func(last int) error {
			child := exec.Command(os.Args[0])
			child.Env = append(os.Environ(), fileEnv+"="+file, stepEnv+"="+strconv.Itoa(last))
			out, err := child.CombinedOutput()
			if len(out) > 0 {
				t.Logf("step %d: %s", step, out)
			}
			return err
		}
		var exit *exec.ExitError
		if err := run(step); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			t.Fatalf("step %d: the child was not killed: %v", step, err)
		}
		if got, want := version(t, file), int64((step-1)/4); got != want {
			t.Fatalf("step %d: version after the kill is %d, want %d", step, got, want)
		}
		if err := run(0); err != nil {
			t.Fatalf("step %d: the next process did not resume: %v", step, err)
		}
		if got := version(t, file); got != 3 {
			t.Fatalf("step %d: version is %d", step, got)
		}
	}
}

func version(t *testing.T, file string) (version int64) {
	t.Helper()
	db, err := connect("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if err := db.QueryRow("PRAGMA user_version").Scan(&version); err != nil {
		t.Fatal(err)
	}
	return version
}

func TestApply(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(files fstest.MapFS)
		want   error
	}{
		{"again", func(fstest.MapFS) {}, nil},
		{"one more", func(files fstest.MapFS) {
			files["00004_more.sql"] = &fstest.MapFile{Data: []byte("-- +goose Up\nCREATE TABLE more (x);\nPRAGMA user_version = 4;\n")}
		}, nil},
		{"renamed", func(files fstest.MapFS) {
			files["00002_other.sql"] = files["00002_step.sql"]
			delete(files, "00002_step.sql")
		}, nil},
		{"edited", func(files fstest.MapFS) {
			files["00002_step.sql"] = &fstest.MapFile{Data: append([]byte("-- edited\n"), files["00002_step.sql"].Data...)}
		}, store.ErrMigrationModified},
		{"missing", func(files fstest.MapFS) { delete(files, "00002_step.sql") }, store.ErrMigrationModified},
		{"older binary", func(files fstest.MapFS) { delete(files, "00003_step.sql") }, store.ErrNewerSchema},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "x.db")
			if err := apply(t.Context(), "sqlite", file, quiet()); err != nil {
				t.Fatal(err)
			}
			before, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			files := quiet()
			tt.change(files)
			if err := apply(t.Context(), "sqlite", file, files); !errors.Is(err, tt.want) {
				t.Fatalf("error is %v, want %v", err, tt.want)
			}
			after, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if tt.want != nil && string(before) != string(after) {
				t.Error("a refused migration wrote")
			}
		})
	}
}

func TestSQLiteDownAndUp(t *testing.T) {
	t.Parallel()
	set, err := migrations.SQLite()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "x.db")
	db, err := connect("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if err := set.Apply(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	schema := tables(t, db)
	for version(t, file) > 0 {
		if err := set.Down(t.Context(), db); err != nil {
			t.Fatal(err)
		}
	}
	if got := tables(t, db); got != "" || version(t, file) != 0 {
		t.Fatalf("tables after the way down: %s", got)
	}
	if err := set.Apply(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	if got := tables(t, db); got != schema || version(t, file) != set.Newest() {
		t.Fatalf("tables after the way up again: %s, want %s", got, schema)
	}
}

// tables lists what migrations made.
func tables(t *testing.T, db *sql.DB) string {
	t.Helper()
	var names sql.NullString
	err := db.QueryRow(`SELECT group_concat(name, ' ') FROM (SELECT name FROM sqlite_schema
		WHERE name NOT LIKE 'sqlite_%' AND name NOT LIKE 'schema_%' ORDER BY name)`).Scan(&names)
	if err != nil {
		t.Fatal(err)
	}
	return names.String
}

func TestNewSetRefusesNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"store.sql", "0_zero.sql", "-1_minus.sql"} {
		if _, err := migrations.NewSet(fstest.MapFS{name: {}}); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}
