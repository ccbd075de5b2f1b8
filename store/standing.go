package store

import (
	"context"
	"fmt"

	"github.com/freshet/freshet/sync/merkle"
)

// Standing says how far a file has come under a recipe. A file that lacks nothing is
// searchable by its words, its symbols and its vectors.
type Standing struct {
	// Lacks is the stage whose result is missing, "" when none is. A file without syntax
	// lacks StageChunk, whatever vectors there are.
	Lacks Stage
	// Parked is set when that stage has given the file up, with the content it has.
	Parked bool
}

// Settled reports whether a snapshot may be sealed full with the file as it is.
func (s Standing) Settled() bool { return s.Lacks == "" || s.Parked }

// Rule decides the standing of files under one recipe. It is the one answer to whether a
// file is searchable: Pending and Seal of every store, the builder of segments and all that
// reports on files ask it. It may be used from several goroutines.
type Rule struct {
	recipe    Recipe
	embedding string
	parked    map[parkedFile]bool
}

// parkedFile is the identity of a failure within a codebase.
type parkedFile struct {
	path    string
	content merkle.Hash
	stage   Stage
	version string
}

// NewRule returns the rule of a recipe for a codebase with these failures.
func NewRule(recipe Recipe, failures []Failure) *Rule {
	r := &Rule{recipe: recipe, embedding: recipe.Embedding.Key(), parked: map[parkedFile]bool{}}
	for _, f := range failures {
		if f.Parked {
			r.parked[parkedFile{f.Path, f.Content, f.Stage, f.Version}] = true
		}
	}
	return r
}

// Embedding is EmbeddingRecipe.Key of the recipe.
func (r *Rule) Embedding() string { return r.embedding }

// Key is the key of a file's syntax.
func (r *Rule) Key(f FileEntry) SyntaxKey {
	return SyntaxKey{Content: f.Content, Version: r.recipe.SyntaxVersion(f.Language)}
}

// Standing decides on one file, given whether its syntax and all its vectors exist.
func (r *Rule) Standing(f FileEntry, chunked, embedded bool) Standing {
	switch {
	case !chunked:
		return Standing{StageChunk, r.parked[parkedFile{f.Path, f.Content, StageChunk, r.recipe.SyntaxVersion(f.Language)}]}
	case !embedded:
		return Standing{StageEmbed, r.parked[parkedFile{f.Path, f.Content, StageEmbed, r.embedding}]}
	}
	return Standing{}
}

// Version is the version under which failures of a file at a stage are recorded.
func (r *Rule) Version(f FileEntry, stage Stage) string {
	if stage == StageEmbed {
		return r.embedding
	}
	return r.recipe.SyntaxVersion(f.Language)
}

// Parks reports whether a failure has a file parked under the recipe of the rule: it is of the
// content that the file has, and of the version that counts now.
func (r *Rule) Parks(f FileEntry, failure Failure) bool {
	return failure.Parked && failure.Path == f.Path && failure.Content == f.Content && failure.Version == r.Version(f, failure.Stage)
}

// StandingOf reads the standing of one file of a codebase from a store.
func StandingOf(ctx context.Context, r Reader, id CodebaseID, f FileEntry, recipe Recipe) (Standing, error) {
	failures, err := r.Failures(ctx, id)
	if err != nil {
		return Standing{}, err
	}
	rule := NewRule(recipe, failures)
	key := rule.Key(f)
	chunked, err := r.HasSyntax(ctx, []SyntaxKey{key})
	if err != nil {
		return Standing{}, err
	}
	embedded, err := r.HasEmbedded(ctx, rule.Embedding(), []SyntaxKey{key})
	if err != nil {
		return Standing{}, err
	}
	return rule.Standing(f, chunked[key], embedded[key]), nil
}

// Incomplete is the error of a seal at LevelFull of a snapshot that lacks files: it wraps
// ErrIncomplete and names the first.
func Incomplete(lacking []PendingFile) error {
	return fmt.Errorf("%d files are neither done nor parked, %s at stage %s the first: %w",
		len(lacking), merkle.QuotePath(lacking[0].Path), lacking[0].Stage, ErrIncomplete)
}
