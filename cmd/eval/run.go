package eval

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/search"
)

// Index is an indexed tree. It is valid until Close.
type Index interface {
	View() store.View
	Source() search.Source
	Close() error
}

// Workshop indexes trees and embeds queries under their recipe.
type Workshop interface {
	Index(ctx context.Context, root string) (Index, error)
	Embedder() search.QueryEmbedder
}

// Options of Run.
type Options struct {
	// Queries is the folder of the queries, as Load reads it; Repos has the checkouts, each
	// in a folder of its repository's name.
	Queries, Repos string
	// Ablations are run beside the ranking as it is.
	Ablations bool
	// Progress is told of each repository; nil means nobody.
	Progress func(name string, done, of int)
}

// Ablation is a variant of the ranking with something switched off.
type Ablation struct {
	Name    string
	Ranking search.Ranking
	// Blind answers without vectors.
	Blind bool
}

// Ablations lists the ranking as it is, and then without each of its signals.
func Ablations() []Ablation {
	without := func(change func(*search.Ranking)) search.Ranking {
		r := search.DefaultRanking()
		change(&r)
		return r
	}
	return []Ablation{
		{Name: "default", Ranking: search.DefaultRanking()},
		{Name: "no vectors", Ranking: search.DefaultRanking(), Blind: true},
		{Name: "no boosts", Ranking: without(func(r *search.Ranking) {
			*r = search.Ranking{Vector: r.Vector, Inflect: r.Inflect, Test: 1, Aside: 1}
		})},
		{Name: "no inflections", Ranking: without(func(r *search.Ranking) { r.Inflect = false })},
		{Name: "no stem", Ranking: without(func(r *search.Ranking) { r.Stem = 0 })},
		{Name: "no path", Ranking: without(func(r *search.Ranking) { r.Path = 0 })},
		{Name: "no symbol", Ranking: without(func(r *search.Ranking) { r.Symbol = 0 })},
		{Name: "no file", Ranking: without(func(r *search.Ranking) { r.File = 0 })},
		{Name: "no test penalty", Ranking: without(func(r *search.Ranking) { r.Test = 1 })},
		{Name: "no aside penalty", Ranking: without(func(r *search.Ranking) { r.Aside = 1 })},
	}
}

// ErrNoCheckout is returned by Run when a repository is missing.
var ErrNoCheckout = errors.New("no checkout")

// Run indexes every repository and asks it all its queries under every ablation.
func Run(ctx context.Context, w Workshop, o Options) (*Report, error) {
	repositories, err := Load(o.Queries)
	if err != nil {
		return nil, err
	}
	ablations := Ablations()
	if !o.Ablations {
		ablations = ablations[:1]
	}
	report := newReport(ablations)
	for i, r := range repositories {
		if o.Progress != nil {
			o.Progress(r.Name, i, len(repositories))
		}
		// What a repository is asked about that it does not have is what its neighbour is
		// asked about.
		foreign := repositories[(i+1)%len(repositories)].Queries
		if len(repositories) == 1 {
			foreign = nil
		}
		if err := report.repository(ctx, w, o.Repos, r, foreign); err != nil {
			return nil, fmt.Errorf("evaluate %s: %w", r.Name, err)
		}
	}
	if o.Progress != nil {
		o.Progress("", len(repositories), len(repositories))
	}
	return report, nil
}

func (r *Report) repository(ctx context.Context, w Workshop, repos string, repository Repository, foreign []Query) (err error) {
	root, err := checkout(repos, repository)
	if err != nil {
		return err
	}
	began := time.Now()
	index, err := w.Index(ctx, root)
	if err != nil {
		return err
	}
	r.watch.indexed = append(r.watch.indexed, time.Since(began))
	defer func() { err = errors.Join(err, index.Close()) }()
	for i, a := range r.ablations {
		embedder := w.Embedder()
		if a.Blind {
			embedder = nil
		}
		engine := search.New(index.Source(), embedder, search.Options{Ranking: &a.Ranking})
		asker := asker{engine: engine, index: index}
		for _, q := range repository.Queries {
			answer, err := asker.ask(ctx, q.Text)
			if err != nil {
				return errors.Join(err, engine.Close())
			}
			r.add(i, repository, q, answer)
			if i == 0 {
				r.watch.answered = append(r.watch.answered, answer.took)
			}
		}
		for _, q := range foreign {
			if i > 0 {
				break
			}
			answer, err := asker.ask(ctx, q.Text)
			if err != nil {
				return errors.Join(err, engine.Close())
			}
			r.addForeign(answer)
		}
		if err := engine.Close(); err != nil {
			return err
		}
	}
	return nil
}

// checkout is the folder of a repository that is indexed, absolute, with symlinks resolved.
func checkout(repos string, r Repository) (string, error) {
	root, err := filepath.Abs(filepath.Join(repos, r.Name, filepath.FromSlash(r.Root)))
	if err != nil {
		return "", fmt.Errorf("find checkout: %w", err)
	}
	if root, err = filepath.EvalSymlinks(root); err != nil {
		return "", fmt.Errorf("%w: %w", ErrNoCheckout, err)
	}
	if info, err := os.Stat(root); err != nil || !info.IsDir() {
		return "", fmt.Errorf("%w: %s is not a folder", ErrNoCheckout, root)
	}
	return root, nil
}

// answer is what a query got: the hits as places, what reading each costs, and whether the
// engine said that nothing fits.
type answer struct {
	hits   []Span
	tokens []int
	none   bool
	took   time.Duration
}

type asker struct {
	engine *search.Engine
	index  Index
}

// bytesPerToken is the rule of thumb by which the tools count, too.
const bytesPerToken = 4

func (a asker) ask(ctx context.Context, text string) (answer, error) {
	began := time.Now()
	result, err := a.engine.Search(ctx, a.index.View(), search.Query{Text: text})
	took := time.Since(began)
	if err != nil {
		return answer{}, fmt.Errorf("ask %q: %w", text, err)
	}
	got := answer{none: len(result.Hits) == 0, took: took}
	for _, w := range result.Warnings {
		got.none = got.none || w.Code == search.WarnWeak
	}
	for _, hit := range result.Hits {
		got.hits = append(got.hits, Span{hit.Path, int(hit.StartLine), int(hit.EndLine)})
		content, err := a.index.Source().Content(ctx, hit.Content)
		if err != nil {
			return answer{}, fmt.Errorf("read %s: %w", hit.Path, err)
		}
		got.tokens = append(got.tokens, (len(hit.Path)+len(lines(content, int(hit.StartLine), int(hit.EndLine))))/bytesPerToken)
	}
	return got, nil
}

// lines cuts lines out of a content, 1-based and inclusive.
func lines(content []byte, start, end int) []byte {
	for line := 1; line < start; line++ {
		_, content, _ = bytes.Cut(content, []byte("\n"))
	}
	at := 0
	for line := start; line <= end && at < len(content); line++ {
		next := bytes.IndexByte(content[at:], '\n')
		if next < 0 {
			return content
		}
		at += next + 1
	}
	return content[:at]
}
