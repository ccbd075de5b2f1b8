package sqlitestore

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// numbered returns contents of about a KiB each that resemble each other.
func numbered(n int) []store.Content {
	contents := make([]store.Content, n)
	for i := range contents {
		data := []byte(strings.Repeat(fmt.Sprintf("line of content %d\n", i), 50))
		contents[i] = store.Content{Hash: sha256.Sum256(data), Data: data}
	}
	return contents
}

func (s *Store) mustCount(t *testing.T, query string) (n int) {
	t.Helper()
	err := s.view(t.Context(), func(c *session) error {
		_, err := c.one(query, nil, &n)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func mustHold(t *testing.T, s *Store, contents []store.Content) {
	t.Helper()
	for i, c := range contents {
		got, err := s.Content(t.Context(), c.Hash)
		if err != nil || !bytes.Equal(got, c.Data) {
			t.Fatalf("content %d: %d bytes (%v), want %d", i, len(got), err, len(c.Data))
		}
	}
}

func TestContentsShareFrames(t *testing.T) {
	t.Parallel()
	s := openAt(t, t.TempDir(), nil)
	contents := numbered(200)
	large := bytes.Repeat([]byte("0123456789abcdef"), frameSize/8) // alone in its frame
	contents = append(contents, store.Content{Hash: sha256.Sum256(large), Data: large}, store.Content{Hash: sha256.Sum256(nil)})
	if err := s.PutContents(t.Context(), append(contents, contents[0])); err != nil {
		t.Fatal(err)
	}
	mustHold(t, s, contents)
	if n := s.mustCount(t, "SELECT count(*) FROM frames"); n > 8 {
		t.Errorf("%d contents took %d frames", len(contents), n)
	}
	if n := s.mustCount(t, "SELECT count(*) FROM contents"); n != len(contents) {
		t.Errorf("%d rows of contents, want %d", n, len(contents))
	}
	if err := s.PutContents(t.Context(), contents[10:20]); err != nil {
		t.Fatal(err)
	}
	if n := s.mustCount(t, "SELECT count(*) FROM frames"); n > 8 {
		t.Errorf("contents that were there took a frame: %d", n)
	}
}

// What is left of a frame that is mostly gaps moves to a new one, and an empty one goes.
func TestFramesAreSwept(t *testing.T) {
	t.Parallel()
	s := openAt(t, t.TempDir(), nil)
	contents := numbered(200)
	if err := s.PutContents(t.Context(), contents); err != nil {
		t.Fatal(err)
	}
	var kept []store.Content
	err := s.write(t.Context(), func(c *session) error {
		for i, content := range contents {
			if i < 150 && i%20 == 0 || i >= 190 {
				kept = append(kept, content)
				continue
			}
			if err := c.exec("DELETE FROM contents WHERE hash = ?", content.Hash[:]); err != nil {
				return err
			}
		}
		return s.sweepFrames(c)
	})
	if err != nil {
		t.Fatal(err)
	}
	mustHold(t, s, kept)
	if n := s.mustCount(t, "SELECT sum(size) FROM frames"); n > 2*len(kept)*len(contents[100].Data) {
		t.Errorf("frames of %d bytes are left for %d contents", n, len(kept))
	}
	if _, err := s.Content(t.Context(), contents[1].Hash); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a removed content gave %v", err)
	}
}

func TestSyntaxIsDeltaOfItsContent(t *testing.T) {
	t.Parallel()
	s := openAt(t, t.TempDir(), nil)
	ctx := t.Context()
	signature := strings.Repeat("func withALongSignature(argument string) error ", 6)
	data := []byte(signature + "{\n}\n")
	key := store.SyntaxKey{Content: sha256.Sum256(data), Version: "go 1"}
	want := store.Syntax{
		Cut:    store.CutGrammar,
		Chunks: []store.Chunk{{End: uint32(len(data)), StartLine: 1, EndLine: 2, TextHash: merkle.Hash{1, 2, 3}}},
		Definitions: []store.Definition{{Name: "withALongSignature", Kind: "function", Signature: signature, Doc: "not in the content",
			End: uint32(len(data)), StartLine: 1, EndLine: 2, Parent: -1}},
	}
	alone := store.SyntaxKey{Content: merkle.Hash{9}, Version: "go 1"}
	if err := s.PutContents(ctx, []store.Content{{Hash: key.Content, Data: data}}); err != nil {
		t.Fatal(err)
	}
	if err := s.PutSyntax(ctx, []store.SyntaxRecord{{Key: key, Syntax: want}, {Key: alone, Syntax: want}}); err != nil {
		t.Fatal(err)
	}
	got, err := s.Syntax(ctx, []store.SyntaxKey{key, alone})
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range []store.SyntaxKey{key, alone} {
		if x := got[k]; string(store.AppendSyntax(nil, x)) != string(store.AppendSyntax(nil, want)) {
			t.Errorf("syntax of %s is %+v", k.Content.Short(), x)
		}
	}
	if err := s.write(ctx, func(c *session) error { return c.exec("DELETE FROM contents") }); err != nil {
		t.Fatal(err)
	}
	got, err = s.Syntax(ctx, []store.SyntaxKey{key, alone})
	if _, ok := got[alone]; err != nil || !ok || len(got) != 1 {
		t.Errorf("without contents: %d syntaxes (%v), want the one that was put without", len(got), err)
	}
}
