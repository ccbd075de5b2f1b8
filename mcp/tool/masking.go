package tool

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/search"
	"github.com/freshet/freshet/store/secret"
	"github.com/freshet/freshet/sync/merkle"
)

// masked returns a backend whose source text has its credentials covered: whatever a
// handler shows comes from there. Hashes stay those of the bytes as they are.
func masked(b *Backend) *Backend {
	out := *b
	if b.Contents != nil {
		out.Contents = maskedContents{b.Contents, b.Masking}
	}
	if b.Disk != nil {
		out.Disk = maskedDisk{b.Disk, b.Masking}
	}
	if b.Search != nil {
		out.Search = maskedSearch{b.Search}
	}
	return &out
}

type maskedContents struct {
	Contents
	memory *secret.Memory
}

// Content returns a content with its credentials covered, of the same length and lines.
func (m maskedContents) Content(ctx context.Context, h merkle.Hash) ([]byte, error) {
	data, err := m.Contents.Content(ctx, h)
	if err != nil {
		return data, err
	}
	return m.memory.Mask(h, data), nil
}

// Syntax returns syntaxes whose signatures and comments have their credentials covered.
func (m maskedContents) Syntax(ctx context.Context, keys []store.SyntaxKey) (map[store.SyntaxKey]store.Syntax, error) {
	found, err := m.Contents.Syntax(ctx, keys)
	for key, syntax := range found {
		if definitions := maskDefinitions(syntax.Definitions); definitions != nil {
			syntax.Definitions = definitions
			found[key] = syntax
		}
	}
	return found, err
}

// maskDefinitions returns definitions in the place of those given, nil when none differs.
func maskDefinitions(given []store.Definition) []store.Definition {
	var out []store.Definition
	for i := range given {
		now, differs := maskDefinition(given[i])
		if !differs {
			continue
		}
		if out == nil {
			out = slices.Clone(given)
		}
		out[i] = now
	}
	return out
}

func maskDefinition(d store.Definition) (store.Definition, bool) {
	var inSignature, inDoc []secret.Span
	d.Signature, inSignature = secret.MaskText(d.Signature)
	d.Doc, inDoc = secret.MaskText(d.Doc)
	return d, len(inSignature)+len(inDoc) > 0
}

type maskedDisk struct {
	Disk
	memory *secret.Memory
}

// Live reads a file and covers its credentials; its hash is that of the file.
func (m maskedDisk) Live(ctx context.Context, c store.Codebase, path string) (LiveFile, error) {
	file, err := m.Disk.Live(ctx, c, path)
	if secret.Named(path) { // whatever is behind the interface
		return LiveFile{LeftOut: store.LeftOutSecret}, err
	}
	if err == nil && file.Data != nil {
		file.Data = m.memory.Mask(file.Hash, file.Data)
	}
	return file, err
}

type maskedSearch struct{ Searcher }

// Search covers the credentials in what hits say of definitions.
func (m maskedSearch) Search(ctx context.Context, view store.View, q search.Query) (search.Result, error) {
	result, err := m.Searcher.Search(ctx, view, q)
	for i, hit := range result.Hits {
		if hit.Definition == nil {
			continue
		}
		if now, differs := maskDefinition(*hit.Definition); differs {
			result.Hits[i].Definition = &now
		}
	}
	return result, err
}

// warnMasked says how many credentials are covered in hits, and which rules found them.
func (c *call) warnMasked(hits []Hit) {
	count, rules := 0, map[string]int{}
	for _, h := range hits {
		for _, text := range []string{h.ContextBefore, h.Content, h.ContextAfter} {
			for {
				_, rest, found := strings.Cut(text, secret.Marker)
				if !found {
					break
				}
				rule, _, _ := strings.Cut(rest, "]")
				if slices.Contains(secret.Rules(), rule) {
					rules[rule]++
					count++
				}
				text = rest
			}
		}
	}
	if count > 0 {
		c.warn("secrets_masked", fmt.Sprintf("%s masked (%s): the text has the form of a credential; the file itself is as it was", plural(count, "span"), strings.Join(sortedKeys(rules), ", ")))
	}
}
