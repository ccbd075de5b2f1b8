package storetest

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

func testContents(t *testing.T, e *env) {
	a, b := content("alpha"), content("beta")
	e.ok(e.s.PutContents(e.ctx, []store.Content{a, b, a}))
	e.ok(e.s.PutContents(e.ctx, []store.Content{b}))
	e.ok(e.s.PutContents(e.ctx, nil))
	got, err := e.s.Content(e.ctx, a.Hash)
	e.ok(err)
	e.same("content", string(got), "alpha")
	has, err := e.s.HasContents(e.ctx, []merkle.Hash{a.Hash, hashOf("gamma"), b.Hash, b.Hash})
	e.ok(err)
	e.same("contents held", has, map[merkle.Hash]bool{a.Hash: true, b.Hash: true})
	e.ok(e.s.Check(e.ctx))
}

func testContentsOfEverySize(t *testing.T, e *env) {
	random := rand.New(rand.NewPCG(1, 2))
	var all []store.Content
	for _, size := range []int{0, 1, 100, 4096, 65535, 65536, 1 << 20} {
		noise := make([]byte, size)
		for i := range noise {
			noise[i] = byte(random.Uint32())
		}
		all = append(all, content(string(noise)), content(string(bytes.Repeat([]byte("a\n"), size/2))))
	}
	e.ok(e.s.PutContents(e.ctx, all))
	for _, c := range all {
		got, err := e.s.Content(e.ctx, c.Hash)
		e.ok(err)
		if !bytes.Equal(got, c.Data) {
			t.Fatalf("content of %d bytes came back as %d others", len(c.Data), len(got))
		}
	}
	e.ok(e.s.Check(e.ctx))
}

func testContentWithAnotherHash(t *testing.T, e *env) {
	id := e.register("a")
	torn := store.Content{Hash: hashOf("whole"), Data: []byte("torn")}
	e.is(e.s.PutContents(e.ctx, []store.Content{content("good"), torn}), store.ErrChecksum)
	o := e.opening(id, recipe("m1"), edit{})
	o.Contents = []store.Content{torn}
	_, err := e.s.Open(e.ctx, o)
	e.is(err, store.ErrChecksum)
	has, err := e.s.HasContents(e.ctx, []merkle.Hash{torn.Hash, hashOf("good")})
	e.ok(err)
	e.same("contents of a refused call", has, nil)
}

func testSyntax(t *testing.T, e *env) {
	first := store.SyntaxRecord{Key: key("ab"), Syntax: syntax("ab")}
	other := store.SyntaxRecord{Key: store.SyntaxKey{Content: hashOf("ab"), Version: "v2"}, Syntax: syntax("abc")}
	empty := store.SyntaxRecord{Key: key(""), Syntax: store.Syntax{Cut: store.CutLines}}
	e.ok(e.s.PutSyntax(e.ctx, []store.SyntaxRecord{first, other, empty, first}))
	e.ok(e.s.PutSyntax(e.ctx, []store.SyntaxRecord{{Key: first.Key, Syntax: syntax("changed")}}))
	keys := []store.SyntaxKey{first.Key, key("missing"), other.Key, empty.Key}
	got, err := e.s.Syntax(e.ctx, keys)
	e.ok(err)
	e.same("syntaxes", got, map[store.SyntaxKey]store.Syntax{
		first.Key: first.Syntax, other.Key: other.Syntax, empty.Key: empty.Syntax,
	})
	has, err := e.s.HasSyntax(e.ctx, keys)
	e.ok(err)
	e.same("keys held", has, map[store.SyntaxKey]bool{first.Key: true, other.Key: true, empty.Key: true})
}

func testVectors(t *testing.T, e *env) {
	e.ok(e.s.PutVectors(e.ctx, "m1", vectors("ab"), nil))
	e.ok(e.s.PutVectors(e.ctx, "m2", vectors("b"), nil))
	e.ok(e.s.PutVectors(e.ctx, "m1", []store.VectorRecord{{TextHash: chunkHash('a'), Vector: vector('z')}}, nil))
	e.ok(e.s.PutVectors(e.ctx, "m1", []store.VectorRecord{{TextHash: chunkHash('e')}}, nil))
	asked := []merkle.Hash{chunkHash('a'), chunkHash('b'), chunkHash('c'), chunkHash('a')}
	got, err := e.s.Vectors(e.ctx, "m1", asked)
	e.ok(err)
	e.same("vectors", got, map[merkle.Hash]store.Vector{chunkHash('a'): vector('a'), chunkHash('b'): vector('b')})
	got, err = e.s.Vectors(e.ctx, "m2", asked)
	e.ok(err)
	e.same("vectors of another embedding", got, map[merkle.Hash]store.Vector{chunkHash('b'): vector('b')})
	got, err = e.s.Vectors(e.ctx, "m3", asked)
	e.ok(err)
	e.same("vectors of an unknown embedding", got, nil)
}

func testEmbeddedNeedsEveryVector(t *testing.T, e *env) {
	keys := []store.SyntaxKey{key("ab"), key("bc"), key(""), key("none")}
	for _, text := range []string{"ab", "bc"} {
		e.ok(e.s.PutSyntax(e.ctx, []store.SyntaxRecord{{Key: key(text), Syntax: syntax(text)}}))
	}
	e.ok(e.s.PutSyntax(e.ctx, []store.SyntaxRecord{{Key: key(""), Syntax: store.Syntax{Cut: store.CutLines}}}))
	marked := func(embedding string) map[store.SyntaxKey]bool {
		has, err := e.s.HasEmbedded(e.ctx, embedding, keys)
		e.ok(err)
		return has
	}
	e.ok(e.s.PutVectors(e.ctx, "m1", vectors("ab"), nil))
	e.same("marked without being named", marked("m1"), nil)
	e.ok(e.s.PutVectors(e.ctx, "m1", nil, keys))
	e.same("marked", marked("m1"), map[store.SyntaxKey]bool{key("ab"): true, key(""): true})
	e.ok(e.s.PutVectors(e.ctx, "m1", vectors("c"), keys))
	e.same("marked later", marked("m1"), map[store.SyntaxKey]bool{key("ab"): true, key("bc"): true, key(""): true})
	e.same("marked of another embedding", marked("m2"), nil)
}

func testReturnedValuesAreTheCallers(t *testing.T, e *env) {
	c := content("text")
	e.ok(e.s.PutContents(e.ctx, []store.Content{c}))
	c.Data[0] = 'X'
	e.process("ab")
	for range 2 {
		data, err := e.s.Content(e.ctx, c.Hash)
		e.ok(err)
		e.same("content", string(data), "text")
		data[0] = 'Y'
		syntaxes, err := e.s.Syntax(e.ctx, []store.SyntaxKey{key("ab")})
		e.ok(err)
		e.same("syntax", syntaxes[key("ab")], syntax("ab"))
		syntaxes[key("ab")].Chunks[0].Breadcrumb = "changed"
		found, err := e.s.Vectors(e.ctx, recipe("m1").Embedding.Key(), []merkle.Hash{chunkHash('a')})
		e.ok(err)
		e.same("vector", found[chunkHash('a')], vector('a'))
		found[chunkHash('a')].Data[0]++
	}
	id := e.register("a")
	r := recipe("m1")
	n, err := e.s.Open(e.ctx, e.opening(id, r, edit{put: map[string]string{"x": "x"}}))
	e.ok(err)
	r.Grammars["Go"] = "changed"
	for range 2 {
		r, err := e.s.Recipe(e.ctx, n.Fingerprint)
		e.ok(err)
		e.same("recipe", r, recipe("m1"))
		r.Grammars["Go"] = "changed"
	}
}
