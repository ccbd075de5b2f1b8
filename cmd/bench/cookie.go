package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/sqlitestore"
	merklesync "github.com/freshet/freshet/sync"
	"github.com/freshet/freshet/sync/scan"
)

// The trees that the growth of a check is measured between.
const (
	fewFiles  = 5_000
	manyFiles = 50_000
)

// measureCookie compares the check of an unchanged tree under a live watcher with git
// status, on two generated trees and on the given one, and says how it grows with the tree.
func measureCookie(ctx context.Context, s settings) error {
	dir, err := os.MkdirTemp("", "freshet-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	few, many := filepath.Join(dir, "few"), filepath.Join(dir, "many")
	if err := generate(ctx, few, fewFiles); err != nil {
		return err
	}
	if err := generate(ctx, many, manyFiles); err != nil {
		return err
	}
	small, err := s.cookie(ctx, few)
	if err != nil {
		return err
	}
	large, err := s.cookie(ctx, many)
	if err != nil {
		return err
	}
	s.printf("growth from %d to %d files: %.2f\n", fewFiles, manyFiles, large/small)
	_, err = s.cookie(ctx, s.repo)
	return err
}

// generate makes a git repository of small files, twenty to a directory.
func generate(ctx context.Context, root string, files int) error {
	for i := range files {
		dir := filepath.Join(root, fmt.Sprintf("d%d/e%d", i/400, i/20))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		text := fmt.Sprintf("package e%d\n\n// F%d is number %d.\nfunc F%d() int { return %d }\n", i/20, i, i, i, i)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%d.go", i)), []byte(text), 0o600); err != nil {
			return err
		}
	}
	for _, args := range [][]string{
		{"init", "-q"},
		{"add", "."},
		{"-c", "user.name=bench", "-c", "user.email=bench@example.com", "commit", "-q", "-m", "generated"},
	} {
		git := exec.CommandContext(ctx, "git", args...)
		git.Dir = root
		if out, err := git.CombinedOutput(); err != nil {
			return fmt.Errorf("git %s: %w: %s", args[0], err, out)
		}
	}
	return nil
}

// quiet publishes nothing: what a check costs beyond its proof is not measured here.
type quiet struct{}

// Flush publishes nothing.
func (quiet) Flush(context.Context) error { return nil }

// followed is a synchronizer that runs over a store of its own.
type followed struct {
	sync  *merklesync.Synchronizer
	stop  context.CancelFunc
	ended chan error
}

func follow(ctx context.Context, s store.Store, id store.CodebaseID, watching merklesync.Watching) *followed {
	ctx, stop := context.WithCancel(ctx)
	f := &followed{stop: stop, ended: make(chan error, 1), sync: merklesync.New(s, id, merklesync.Options{
		Outbox: quiet{}, Recipe: store.Recipe{Schema: 1, IgnoreRules: scan.Version}, Watching: watching,
	})}
	go func() { f.ended <- f.sync.Run(ctx) }()
	return f
}

func (f *followed) end() error {
	f.stop()
	return <-f.ended
}

// cookie measures on one tree and returns the median of a check in microseconds.
func (s settings) cookie(ctx context.Context, root string) (median50 float64, err error) {
	home, err := os.MkdirTemp("", "freshet-bench-")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(home) }()
	db, err := sqlitestore.Open(ctx, home, sqlitestore.Options{})
	if err != nil {
		return 0, err
	}
	defer func() { _ = db.Close() }()
	identity, err := scan.Identity(root)
	if err != nil {
		return 0, err
	}
	c, err := db.Register(ctx, store.Codebase{ID: "cbench", Name: "bench", Root: root, Identity: identity})
	if err != nil {
		return 0, err
	}
	f := follow(ctx, db, c.ID, merklesync.Watching{Dir: home})
	first, err := f.settle(ctx)
	if err == nil {
		err = f.seal(ctx, db)
	}
	if err == nil {
		s.printf("%s: %d files, %d directories watched; load %s\n", filepath.Base(root), first.Summary.Files, f.sync.Watch().Watches, load())
		median50, err = s.checks(ctx, root, f)
	}
	if eerr := f.end(); err == nil {
		err = eerr
	}
	if err != nil {
		return 0, err
	}
	return median50, s.restarts(ctx, root, home, db, c.ID)
}

// settle checks until the watcher is live and no young file is read again.
func (f *followed) settle(ctx context.Context) (merklesync.Observation, error) {
	for {
		seen, err := f.sync.Check(ctx)
		if err != nil || (f.sync.Watch().State == merklesync.WatchLive && seen.Summary.Stated == 0) {
			return seen, err
		}
		if reason := f.sync.Watch().Reason; reason != "" {
			return seen, fmt.Errorf("watcher: %s", reason)
		}
	}
}

// seal makes the newest snapshot current, as the pipeline would have.
func (f *followed) seal(ctx context.Context, db store.Store) error {
	c, err := db.Codebase(ctx, "cbench")
	if err != nil {
		return err
	}
	if err := cutEmpty(ctx, db, c); err != nil {
		return err
	}
	if err := db.Seal(ctx, store.Seal{Codebase: c.ID, Number: c.Latest, Level: store.LevelFull, At: time.Now()}); err != nil {
		return err
	}
	_, err = f.sync.Check(ctx)
	return err
}

// cutEmpty gives every file of the newest snapshot a syntax without chunks, because only its
// stat entries are measured.
func cutEmpty(ctx context.Context, db store.Store, c store.Codebase) error {
	n, err := db.Snapshot(ctx, c.ID, c.Latest)
	if err != nil {
		return err
	}
	recipe, err := db.Recipe(ctx, n.Fingerprint)
	if err != nil {
		return err
	}
	pending, err := db.Pending(ctx, c.ID, c.Latest, recipe)
	if err != nil {
		return err
	}
	records, keys := make([]store.SyntaxRecord, len(pending)), make([]store.SyntaxKey, len(pending))
	for i, p := range pending {
		keys[i] = store.SyntaxKey{Content: p.Content, Version: recipe.SyntaxVersion(p.Language)}
		records[i] = store.SyntaxRecord{Key: keys[i], Syntax: store.Syntax{Cut: store.CutLines}}
	}
	if err := db.PutSyntax(ctx, records); err != nil {
		return err
	}
	return db.PutVectors(ctx, recipe.Embedding.Key(), nil, keys)
}

// checksPerPair is how many checks stand against one git status: each takes microseconds.
const checksPerPair = 200

func (s settings) checks(ctx context.Context, root string, f *followed) (float64, error) {
	var ours, theirs, ratios []float64
	stated := 0
	for pair := range s.pairs + 1 {
		var round []float64
		for range checksPerPair {
			started := time.Now()
			seen, err := f.sync.Check(ctx)
			if err != nil {
				return 0, err
			}
			round = append(round, microseconds(time.Since(started)))
			stated += seen.Summary.Stated + seen.Summary.Listed + seen.Summary.Read
		}
		git, err := gitStatus(ctx, root)
		if err != nil {
			return 0, err
		}
		if pair == 0 {
			continue // it warms up
		}
		ratios = append(ratios, median(round)/microseconds(git))
		ours, theirs = append(ours, round...), append(theirs, microseconds(git))
	}
	s.printf("check        %10.1f us p50, %.1f p95, %.1f max; stats of the tree: %d\n", median(ours), quantile(ours, 0.95), quantile(ours, 1), stated)
	s.printf("git status   %10.1f us p50\n", median(theirs))
	s.printf("ratio        %10.5f (1/%.0f)\n", median(ratios), 1/median(ratios))
	return median(ours), nil
}

// restarts compares the time from nothing to a proof, with the index from the store, with
// and without a watcher, and git status.
func (s settings) restarts(ctx context.Context, root, home string, db store.Store, id store.CodebaseID) error {
	var watched, plain, theirs, ratios []float64
	for range s.pairs {
		with, err := restart(ctx, db, id, merklesync.Watching{Dir: home})
		if err != nil {
			return err
		}
		without, err := restart(ctx, db, id, merklesync.Watching{})
		if err != nil {
			return err
		}
		git, err := gitStatus(ctx, root)
		if err != nil {
			return err
		}
		watched, plain = append(watched, microseconds(with)), append(plain, microseconds(without))
		theirs, ratios = append(theirs, microseconds(git)), append(ratios, with.Seconds()/git.Seconds())
	}
	s.printf("restart to proved fresh: %.1f ms and live, %.1f ms without a watcher, git status %.1f ms, ratio %.2f\n",
		median(watched)/1000, median(plain)/1000, median(theirs)/1000, median(ratios))
	return nil
}

func restart(ctx context.Context, db store.Store, id store.CodebaseID, watching merklesync.Watching) (time.Duration, error) {
	started := time.Now()
	f := follow(ctx, db, id, watching)
	_, err := f.sync.Check(ctx)
	took := time.Since(started)
	if state := f.sync.Watch(); err == nil && watching.Dir != "" && state.State != merklesync.WatchLive {
		err = fmt.Errorf("the watcher is %s: %s", state.State, state.Reason)
	}
	if eerr := f.end(); err == nil {
		err = eerr
	}
	return took, err
}

func gitStatus(ctx context.Context, root string) (time.Duration, error) {
	status := exec.CommandContext(ctx, "git", "-c", "core.fsmonitor=false", "status", "--porcelain")
	status.Dir = root
	status.Env = append(os.Environ(), "GIT_OPTIONAL_LOCKS=0")
	started := time.Now()
	if out, err := status.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("git status: %w: %s", err, out)
	}
	return time.Since(started), nil
}

func microseconds(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }
