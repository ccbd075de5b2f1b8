package store

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"sort"
	"strconv"
)

// Recipe is everything that decides what an index contains. Whoever changes what the
// index contains changes a field here; history.md lists what changed and when.
type Recipe struct {
	// Schema is the version of the segment format and of the scoring that reads it.
	Schema int `json:"schema"`
	// Tokenizer is the version of store/lexical.
	Tokenizer string `json:"tokenizer"`
	// Embedding decides which vectors may be compared.
	Embedding EmbeddingRecipe `json:"embedding"`
	// Chunker is the version of the chunking rules that all grammars share.
	Chunker string `json:"chunker"`
	// Grammars maps a language (go-enry's name) to the version of its parser.
	Grammars map[string]string `json:"grammars"`
	// IgnoreRules is the version of what is left out of a tree, and of the classification
	// of files by language, generated, vendored.
	IgnoreRules string `json:"ignore_rules"`
}

// EmbeddingRecipe is the part of the recipe that vectors depend on.
type EmbeddingRecipe struct {
	Provider      string `json:"provider"`
	Model         string `json:"model"`
	Artifact      string `json:"artifact"` // digest of the model's artifact, "" when remote
	Dimension     int    `json:"dimension"`
	Normalization string `json:"normalization"`
}

// Key is the digest of the embedding part, under which vectors are kept.
func (e EmbeddingRecipe) Key() string {
	r := Recipe{Embedding: e}
	var fields []Field
	for _, f := range r.Fields() {
		if len(f.Label) > 10 && f.Label[:10] == "embedding." {
			fields = append(fields, f)
		}
	}
	return digestFields(fields)
}

// Side says which part of a read depends on a recipe field.
type Side string

// The sides of a recipe.
const (
	// QuerySide fields decide how a query is compared with the index: a difference refuses
	// the read.
	QuerySide Side = "query"
	// IndexSide fields decide what the index holds: a difference labels the read.
	IndexSide Side = "index"
)

// Field is one labelled value of a recipe.
type Field struct {
	Label string `json:"label"`
	Value string `json:"value"`
	Side  Side   `json:"side"`
}

// Fields lists the recipe's fields in a fixed order.
func (r Recipe) Fields() []Field {
	fields := []Field{
		{"schema", strconv.Itoa(r.Schema), QuerySide},
		{"tokenizer", r.Tokenizer, QuerySide},
		{"embedding.provider", r.Embedding.Provider, QuerySide},
		{"embedding.model", r.Embedding.Model, QuerySide},
		{"embedding.artifact", r.Embedding.Artifact, QuerySide},
		{"embedding.dimension", strconv.Itoa(r.Embedding.Dimension), QuerySide},
		{"embedding.normalization", r.Embedding.Normalization, QuerySide},
		{"chunker", r.Chunker, IndexSide},
		{"ignore_rules", r.IgnoreRules, IndexSide},
	}
	languages := make([]string, 0, len(r.Grammars))
	for language := range r.Grammars {
		languages = append(languages, language)
	}
	sort.Strings(languages)
	for _, language := range languages {
		fields = append(fields, Field{"grammar." + language, r.Grammars[language], IndexSide})
	}
	return fields
}

// Fingerprint is the digest of a recipe. The zero string is no fingerprint.
type Fingerprint string

// Short returns the first 12 digits, for people.
func (f Fingerprint) Short() string {
	if len(f) > 12 {
		return string(f[:12])
	}
	return string(f)
}

// Fingerprint digests the recipe, field by field with labels.
func (r Recipe) Fingerprint() Fingerprint { return Fingerprint(digestFields(r.Fields())) }

func digestFields(fields []Field) string {
	h := sha256.New()
	write := func(s string) {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(s)))
		h.Write(n[:])
		h.Write([]byte(s))
	}
	for _, f := range fields {
		write(f.Label)
		write(f.Value)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// FieldChange is a field that differs between two recipes.
type FieldChange struct {
	Label string `json:"label"`
	Old   string `json:"old"`
	New   string `json:"new"`
	Side  Side   `json:"side"`
}

// Diff lists the fields in which now differs from r, which is the older one.
func (r Recipe) Diff(now Recipe) []FieldChange {
	old := map[string]Field{}
	for _, f := range r.Fields() {
		old[f.Label] = f
	}
	var changes []FieldChange
	for _, f := range now.Fields() {
		if before, ok := old[f.Label]; !ok || before.Value != f.Value {
			changes = append(changes, FieldChange{f.Label, before.Value, f.Value, f.Side})
		}
		delete(old, f.Label)
	}
	gone := make([]string, 0, len(old))
	for label := range old {
		gone = append(gone, label)
	}
	sort.Strings(gone)
	for _, label := range gone {
		changes = append(changes, FieldChange{label, old[label].Value, "", old[label].Side})
	}
	return changes
}

// SyntaxVersion is the version part of the SyntaxKey of a file in language: the chunker
// with the grammar, or with the fallback when the language has none.
func (r Recipe) SyntaxVersion(language string) string {
	if grammar, ok := r.Grammars[language]; ok {
		return r.Chunker + "/" + language + "@" + grammar
	}
	return r.Chunker + "/fallback"
}
