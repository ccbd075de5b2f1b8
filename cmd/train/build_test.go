package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/freshet/freshet/cmd/train/corpus"
	"github.com/freshet/freshet/pipeline/embedding"
	"github.com/freshet/freshet/pipeline/embedding/builtin"
	"github.com/freshet/freshet/pipeline/embedding/embeddingtest"
)

// place is a tiny Go distribution with its manifest.
func place(t *testing.T) (root, manifest string) {
	t.Helper()
	root = t.TempDir()
	verbs, things := []string{"close", "open", "parse", "encode", "flush"}, []string{"server", "connection", "document", "network", "batch", "entries"}
	for _, pkg := range []string{"alpha", "beta", "gamma", "delta"} {
		var b strings.Builder
		fmt.Fprintf(&b, "package %s\n\n", pkg)
		for i, verb := range verbs {
			for j, thing := range things {
				fmt.Fprintf(&b, "// %s the %s of the %s and its nodes.\nfunc %s%s%s() {\n\t%s.%s()\n\t%s.push(%d)\n\tyaml.nodes(%s)\n}\n\n",
					verb, thing, pkg, verb, strings.ToUpper(thing[:1])+thing[1:], pkg, thing, verb, pkg, i*7+j, thing)
			}
		}
		dir := filepath.Join(root, "src", pkg)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "a.go"), []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	source := corpus.Source{Kind: corpus.Go, Name: "std", Version: "go1", Licence: "BSD-3-Clause"}
	cache := corpus.Cache{GOROOT: root}
	digest, err := cache.Digest(t.Context(), source)
	if err != nil {
		t.Fatal(err)
	}
	source.Digest = digest
	manifest = filepath.Join(root, "manifest.txt")
	if err := os.WriteFile(manifest, []byte(source.Line()+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return root, manifest
}

// A whole training, from files to a provider that satisfies the suite of providers; in one
// step and in two it gives the same bytes.
func TestBuild(t *testing.T) {
	t.Parallel()
	root, manifest := place(t)
	out, again := filepath.Join(root, "out"), filepath.Join(root, "again")
	common := []string{"-manifest", manifest, "-goroot", root, "-pairs", filepath.Join(root, "pairs")}
	for _, args := range [][]string{
		{"fetch"}, {"build", "-out", out}, {"mine"}, {"fit", "-out", again, "-workers", "3"},
	} {
		if err := run(t.Context(), append(args, common...)); err != nil {
			t.Fatalf("%s: %v", args[0], err)
		}
	}
	table, err := os.ReadFile(filepath.Join(out, "table.bin"))
	if err != nil {
		t.Fatal(err)
	}
	if other, err := os.ReadFile(filepath.Join(again, "table.bin")); err != nil || !bytes.Equal(table, other) {
		t.Errorf("mine and fit give another table than build (%v)", err)
	}
	text, err := os.ReadFile(filepath.Join(out, "card.json"))
	if err != nil {
		t.Fatal(err)
	}
	var card builtin.Card
	if err := json.Unmarshal(text, &card); err != nil {
		t.Fatal(err)
	}
	provider := builtin.NewModel(card, string(table))
	embeddingtest.Run(t, provider, embeddingtest.Features{Local: true})
	if _, err := provider.Embed(t.Context(), embedding.Query, []string{"flush the batch"}); err != nil {
		t.Error(err)
	}
}

func TestFetchNamesWhatIsAltered(t *testing.T) {
	t.Parallel()
	root, manifest := place(t)
	if err := os.WriteFile(filepath.Join(root, "src", "alpha", "a.go"), []byte("package alpha\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), []string{"fetch", "-manifest", manifest, "-goroot", root}); err == nil {
		t.Error("an altered source is fetched")
	}
}

// The shipped model was trained on the committed manifest.
func TestShippedModelIsOfTheManifest(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("manifest.txt")
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	if got, want := hex.EncodeToString(sum[:]), builtin.ShippedCard().Corpus; got != want {
		t.Errorf("the manifest has sha256 %s, the shipped model was trained on %s", got, want)
	}
}
