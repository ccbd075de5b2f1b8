package storetest

import (
	"errors"
	"testing"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// Row is a kind of row that a backend can damage.
type Row string

// The rows that are damaged.
const (
	RowContent Row = "contents"
	RowSyntax  Row = "syntaxes"
	RowVector  Row = "vectors"
)

// testDamagedRows damages one row of each kind in turn. A read of several keys returns the
// others and names the damaged one; Discard drops it, so that its work is pending, and nothing
// else; and what is put again is whole.
func testDamagedRows(t *testing.T, e *env, damage func(t *testing.T, s store.Store, row Row, h merkle.Hash)) {
	id := e.register("a")
	texts := map[string]string{"x": "ab", "y": "cd", "z": "ae"}
	e.open(id, edit{put: texts})
	e.process("ab", "cd", "ae")
	embedding := recipe("m1").Embedding.Key()
	keys := []store.SyntaxKey{key("ab"), key("cd"), key("ae")}
	pending := func() []string {
		t.Helper()
		all, err := e.s.Pending(e.ctx, id, 1, recipe("m1"))
		e.ok(err)
		var out []string
		for _, p := range all {
			out = append(out, p.Path+" "+string(p.Stage))
		}
		return out
	}
	e.same("pending", pending(), nil)

	e.ok(e.s.Discard(e.ctx, store.Damage{
		Contents: []merkle.Hash{hashOf("ab"), hashOf("never put")}, Syntaxes: append(keys, key("never put")),
		Embedding: embedding, Vectors: []merkle.Hash{chunkHash('a'), hashOf("never put")},
	}))
	e.same("pending after whole rows were named", pending(), nil)

	damage(t, e.s, RowVector, chunkHash('a'))
	asked := []merkle.Hash{chunkHash('a'), chunkHash('b'), chunkHash('c')}
	vectorsFound, err := e.s.Vectors(e.ctx, embedding, asked)
	e.same("damaged vectors", damageOf(t, err), store.Damage{Embedding: embedding, Vectors: []merkle.Hash{chunkHash('a')}})
	e.same("whole vectors", vectorsFound, map[merkle.Hash]store.Vector{chunkHash('b'): vector('b'), chunkHash('c'): vector('c')})
	e.ok(e.s.Discard(e.ctx, damageOf(t, err)))
	e.same("pending without a vector", pending(), []string{"x embed", "z embed"})
	e.ok(e.s.PutVectors(e.ctx, embedding, vectors("a"), keys))
	e.same("pending with the vector again", pending(), nil)

	damage(t, e.s, RowSyntax, hashOf("ab"))
	found, err := e.s.Syntax(e.ctx, keys)
	e.same("damaged syntaxes", damageOf(t, err), store.Damage{Syntaxes: keys[:1]})
	e.same("whole syntaxes", found, map[store.SyntaxKey]store.Syntax{keys[1]: syntax("cd"), keys[2]: syntax("ae")})
	e.ok(e.s.Discard(e.ctx, damageOf(t, err)))
	e.same("pending without a syntax", pending(), []string{"x chunk"})
	e.process("ab")
	e.same("pending with the syntax again", pending(), nil)

	damage(t, e.s, RowContent, hashOf("cd"))
	_, err = e.s.Content(e.ctx, hashOf("cd"))
	e.is(err, store.ErrCorrupt)
	// A store may keep a syntax as a difference to its content.
	found, err = e.s.Syntax(e.ctx, keys)
	if err != nil {
		e.same("damaged contents of syntaxes", damageOf(t, err), store.Damage{Contents: []merkle.Hash{hashOf("cd")}})
		delete(found, keys[1])
		e.same("syntaxes of whole contents", found, map[store.SyntaxKey]store.Syntax{keys[0]: syntax("ab"), keys[2]: syntax("ae")})
	}
	e.ok(e.s.Discard(e.ctx, store.Damage{Contents: []merkle.Hash{hashOf("cd")}}))
	has, err := e.s.HasContents(e.ctx, []merkle.Hash{hashOf("ab"), hashOf("cd")})
	e.ok(err)
	e.same("contents", has, map[merkle.Hash]bool{hashOf("ab"): true})
	e.ok(e.s.PutContents(e.ctx, []store.Content{content("cd")}))
	data, err := e.s.Content(e.ctx, hashOf("cd"))
	e.ok(err)
	e.same("content that was put again", string(data), "cd")
	found, err = e.s.Syntax(e.ctx, keys)
	e.ok(err)
	e.same("syntax of a content that was put again", found[keys[1]], syntax("cd"))
	e.ok(e.s.Check(e.ctx))
}

// damageOf returns what an error of a read names, and fails the test for another error.
func damageOf(t *testing.T, err error) store.Damage {
	t.Helper()
	var damaged *store.DamagedError
	if !errors.As(err, &damaged) || !errors.Is(err, store.ErrCorrupt) {
		t.Fatalf("error is %v, want one that names damaged rows", err)
	}
	return damaged.Damage
}
