package stage

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/pipeline/embedding/builtin"
	"github.com/freshet/freshet/pipeline/event"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/sqlitestore"
	"github.com/freshet/freshet/sync/merkle"
)

// folder is a tree on disk.
type folder string

func (f folder) Reread(_ context.Context, _ store.CodebaseID, path string, _ merkle.Hash) ([]byte, error) {
	return os.ReadFile(filepath.Join(string(f), path))
}

// bench is a store on disk with twenty files of a tree, and both stages.
type bench struct {
	t        *testing.T
	dir      string
	root     folder
	store    *sqlitestore.Store
	files    []event.File
	recipe   store.Recipe
	chunker  *Chunker
	embedder *Embedder
}

const damaged = 7 // the file whose rows are damaged

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, dir: t.TempDir(), root: folder(t.TempDir()), recipe: store.Recipe{Embedding: builtin.New().Recipe()}}
	var err error
	b.store, err = sqlitestore.Open(t.Context(), b.dir, sqlitestore.Options{})
	b.must(err)
	t.Cleanup(func() { b.must(b.store.Close()) })
	_, err = b.store.Register(t.Context(), store.Codebase{ID: "ca", Name: "a", Root: string(b.root)})
	b.must(err)
	o := store.Opening{Codebase: "ca", Number: 1, Recipe: b.recipe, Root: merkle.Hash{1}, At: time.Unix(1, 0), Rebuild: true}
	for i := range 20 {
		data := fmt.Appendf(nil, "the words of file %d", i)
		h := merkle.Hash(sha256.Sum256(data))
		path := fmt.Sprintf("f%02d.txt", i)
		b.must(os.WriteFile(filepath.Join(string(b.root), path), data, 0o600))
		o.Contents = append(o.Contents, store.Content{Hash: h, Data: data})
		o.Upserts = append(o.Upserts, store.FileEntry{Path: path, Content: h, Size: int64(len(data))})
		b.files = append(b.files, event.File{Path: path, Content: h, Size: int64(len(data))})
	}
	_, err = b.store.Open(t.Context(), o)
	b.must(err)
	deps := Deps{Store: b.store, Bus: sink{}, Outbox: flushed{}, Recipe: b.recipe, Tree: b.root}
	b.chunker = NewChunker(deps, ChunkerOptions{Cutter: whole{}})
	b.embedder = NewEmbedder(deps, builtin.New())
	return b
}

// whole cuts a content into one chunk.
type whole struct{}

func (whole) Cut(_ context.Context, _ string, content []byte) (store.Syntax, error) {
	return store.Syntax{Chunks: []store.Chunk{{End: uint32(len(content)), TextHash: sha256.Sum256(content)}}}, nil
}

type flushed struct{}

func (flushed) Flush(context.Context) error { return nil }

func (b *bench) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// handle gives a stage its event for all files.
func (b *bench) handle(s store.Stage) error {
	b.t.Helper()
	base := event.Event{Codebase: "ca", Snapshot: 1, Fingerprint: b.recipe.Fingerprint(), At: time.Unix(1, 0)}
	e := event.Again(base, b.files)[0]
	handle := b.chunker.Handle
	if s == store.StageEmbed {
		e, handle = event.Chunked(e, b.files, time.Unix(1, 0)), b.embedder.Handle
	}
	data, err := event.Encode(e)
	b.must(err)
	return handle(b.t.Context(), deliveryOf(data))
}

func deliveryOf(data []byte) bus.Delivery {
	return bus.Delivery{Stored: bus.Stored{Message: bus.Message{Codebase: "ca", Data: data}}}
}

// damage changes rows behind the back of the store.
func (b *bench) damage(statement string, args ...any) {
	b.t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(b.dir, "freshet.db")+"?_pragma=busy_timeout(60000)")
	b.must(err)
	result, err := db.ExecContext(b.t.Context(), statement, args...)
	b.must(err)
	n, err := result.RowsAffected()
	b.must(errors.Join(err, db.Close()))
	if n != 1 {
		b.t.Fatalf("%d rows were damaged, want 1", n)
	}
}

// pending lists what is left to do, by path and stage.
func (b *bench) pending() string {
	b.t.Helper()
	all, err := b.store.Pending(b.t.Context(), "ca", 1, b.recipe)
	b.must(err)
	var out []string
	for _, p := range all {
		out = append(out, p.Path+" "+string(p.Stage))
	}
	return strings.Join(out, ", ")
}

// want fails the test unless just that is left to do, and just those files are parked.
func (b *bench) want(pending string, parked ...string) {
	b.t.Helper()
	if got := b.pending(); got != pending {
		b.t.Errorf("pending: %q, want %q", got, pending)
	}
	failures, err := b.store.Failures(b.t.Context(), "ca")
	b.must(err)
	var got []string
	for _, f := range failures {
		if f.Parked && f.Reason != "" {
			got = append(got, f.Path)
		}
	}
	if strings.Join(got, " ") != strings.Join(parked, " ") {
		b.t.Errorf("parked: %q, want %q", got, parked)
	}
}

// untilParked handles an event as often as a file is tried. The chunk stage finishes with the
// other files at once, and tries the file at fault by an event of its own.
func (b *bench) untilParked(s store.Stage) {
	b.t.Helper()
	again, left := func() error { return b.handle(s) }, store.MaxTries-1
	if s == store.StageChunk {
		b.must(b.handle(s))
		events, err := b.store.Outbox(b.t.Context(), 10)
		b.must(err)
		if len(events) != 1 {
			b.t.Fatalf("%d events were postponed, want that of the file at fault", len(events))
		}
		e, err := event.Decode(events[0].Data)
		b.must(err)
		if len(e.Changed.Files) != 1 || e.Changed.Files[0].Path != b.files[damaged].Path || !e.Changed.Slow || !e.Bulk() {
			b.t.Fatalf("postponed is %+v, want the file at fault", e.Changed)
		}
		again, left = func() error { return b.chunker.Handle(b.t.Context(), deliveryOf(events[0].Data)) }, left-1
	}
	for range left {
		if err := again(); err == nil {
			b.t.Fatal("the file at fault was not tried again")
		}
	}
	b.must(again())
}

// A content that is damaged is read from the tree again, before either stage, and costs no
// file anything.
func TestDamagedContentIsReadAgain(t *testing.T) {
	t.Parallel()
	const spoil = "UPDATE contents SET size = size - 1 WHERE hash = ?"
	b := newBench(t)
	b.damage(spoil, b.files[damaged].Content[:])
	b.must(b.handle(store.StageChunk))
	b.damage(spoil, b.files[damaged].Content[:])
	b.must(b.handle(store.StageEmbed))
	b.want("")
	// A store may need the content for the syntax, so that it is found damaged first.
	b.damage(spoil, b.files[damaged].Content[:])
	b.damage("DELETE FROM embedded WHERE syntax = (SELECT id FROM syntaxes WHERE content = ?)", b.files[damaged].Content[:])
	b.must(b.handle(store.StageEmbed))
	b.want("")
	b.must(b.store.Check(t.Context()))
}

// A content that is damaged and whose file has changed since costs that file: it is parked
// with its reason, and the others are done.
func TestDamagedContentThatIsGoneParksItsFile(t *testing.T) {
	t.Parallel()
	for _, s := range []store.Stage{store.StageChunk, store.StageEmbed} {
		t.Run(string(s), func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			if s == store.StageEmbed {
				b.must(b.handle(store.StageChunk))
			}
			b.damage("UPDATE contents SET size = size - 1 WHERE hash = ?", b.files[damaged].Content[:])
			b.must(os.WriteFile(filepath.Join(string(b.root), b.files[damaged].Path), []byte("changed"), 0o600))
			b.untilParked(s)
			if s == store.StageChunk {
				b.must(b.handle(store.StageEmbed))
			}
			b.want("", b.files[damaged].Path)
		})
	}
}

// A syntax that is damaged is cut again, and a vector made again: no file is parked, and no
// event is a dead letter.
func TestDamagedSyntaxAndVectorAreMadeAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.must(b.handle(store.StageChunk))
	b.damage("UPDATE syntaxes SET body = substr(body, 1, length(body) - 1) || x'ff' WHERE content = ?", b.files[damaged].Content[:])
	b.must(b.handle(store.StageEmbed))
	b.want(b.files[damaged].Path + " chunk")
	b.must(b.handle(store.StageChunk))
	b.must(b.handle(store.StageEmbed))
	b.want("")
	b.damage("UPDATE vectors SET body = substr(body, 1, length(body) - 1) || x'ff' WHERE text = ?", b.files[damaged].Content[:])
	b.damage("DELETE FROM embedded WHERE syntax = (SELECT id FROM syntaxes WHERE content = ?)", b.files[damaged].Content[:])
	b.must(b.handle(store.StageEmbed))
	b.want("")
	b.must(b.store.Check(t.Context()))
}

// A syntax that does not fit its content costs that file, and its event is no dead letter.
func TestSyntaxThatDoesNotFitParksItsFile(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	key := store.SyntaxKey{Content: b.files[damaged].Content, Version: b.recipe.SyntaxVersion("")}
	long := store.Syntax{Chunks: []store.Chunk{{End: 1 << 20, TextHash: merkle.Hash{9}}}}
	b.must(b.store.PutSyntax(t.Context(), []store.SyntaxRecord{{Key: key, Syntax: long}}))
	b.must(b.handle(store.StageChunk))
	b.untilParked(store.StageEmbed)
	b.want("", b.files[damaged].Path)
}
