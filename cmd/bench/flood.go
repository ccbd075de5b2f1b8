package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/freshet/freshet/cmd/datadir"
	"github.com/freshet/freshet/mcp/mcptest"
	"github.com/freshet/freshet/mcp/tool"
)

// The client that floods: so many connections, each of which searches again as soon as it was
// answered.
const flooders = 16

// pause is between two searches of a client that reads its answers.
const pause = 100 * time.Millisecond

// measureFlood measures the searches of a client over HTTP alone and beside one that floods
// the server from the same address with the same token, in turns. A client that reads its
// answers is to have at most three times its p95 of alone; one that calls again at once is one
// more connection of the flood, and has its share.
func measureFlood(ctx context.Context, s settings) error {
	f, err := openFleet(ctx, s)
	if err != nil {
		return err
	}
	err = f.flood(ctx)
	return errors.Join(err, f.close())
}

func (f *fleet) flood(ctx context.Context) error {
	token, err := datadir.Token(filepath.Join(f.work, "home"))
	if err != nil {
		return err
	}
	second, err := mcptest.HTTP(ctx, f.url, token)
	if err != nil {
		return err
	}
	defer func() { _ = second.Close() }()
	if err := second.Index(ctx, f.repo); err != nil {
		return err
	}
	for round := range queries { // once to warm up
		if _, err := f.search(ctx, second, round); err != nil {
			return err
		}
	}
	var alone, beside, atOnce []float64
	flooded := 0
	for range f.pairs {
		took, err := f.searches(ctx, second, pause)
		if err != nil {
			return err
		}
		alone = append(alone, took...)
		calls, stop, err := f.start(ctx, token)
		if err != nil {
			return err
		}
		took, err = f.searches(ctx, second, pause)
		beside = append(beside, took...)
		if err == nil {
			took, err = f.searches(ctx, second, 0)
			atOnce = append(atOnce, took...)
		}
		stop()
		if err != nil {
			return err
		}
		flooded += calls()
	}
	f.printf("alone                        p50 %6.1f ms, p95 %6.1f ms (%d calls); load %s\n", median(alone), quantile(alone, 0.95), len(alone), load())
	f.printf("beside %d that flood         p50 %6.1f ms, p95 %6.1f ms (%d calls, %d of the flood)\n", flooders, median(beside), quantile(beside, 0.95), len(beside), flooded)
	f.printf("the same, without a pause    p50 %6.1f ms, p95 %6.1f ms\n", median(atOnce), quantile(atOnce, 0.95))
	f.printf("p95 beside / alone: %.2f\n", quantile(beside, 0.95)/quantile(alone, 0.95))
	return nil
}

// searches times f.rounds searches of one client, which pauses before each.
func (f *fleet) searches(ctx context.Context, client *mcptest.Client, pause time.Duration) ([]float64, error) {
	var took []float64
	for round := range f.rounds {
		time.Sleep(pause)
		ms, err := f.search(ctx, client, round)
		if err != nil {
			return nil, err
		}
		took = append(took, ms)
	}
	return took, nil
}

// search times a search of one client.
func (f *fleet) search(ctx context.Context, client *mcptest.Client, round int) (float64, error) {
	started := time.Now()
	envelope, err := client.Ask(ctx, tool.ToolSearch, map[string]any{"codebase": f.repo, "query": queries[round%len(queries)]})
	if err == nil && envelope.Status != tool.StatusOK {
		err = fmt.Errorf("an answer that is %s", envelope.Status)
	}
	return float64(time.Since(started).Microseconds()) / 1000, err
}

// start floods the server until stop. calls is how many searches the flood was answered, to be
// asked after stop.
func (f *fleet) start(ctx context.Context, token string) (calls func() int, stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	var running, connected sync.WaitGroup
	answered := make([]int, flooders)
	for i := range flooders {
		client, err := mcptest.HTTP(ctx, f.url, token)
		if err != nil {
			cancel()
			running.Wait()
			return nil, nil, err
		}
		connected.Add(1)
		running.Go(func() {
			defer func() { _ = client.Close() }()
			for round := i; ctx.Err() == nil; round++ {
				_, err := f.search(ctx, client, round)
				if round == i { // the flood is under way when each has been answered once
					connected.Done()
				}
				if err == nil { // else it was stopped, or is told that the server is busy
					answered[i]++
				}
			}
		})
	}
	connected.Wait()
	stop = func() {
		cancel()
		running.Wait()
	}
	return func() (sum int) {
		for _, n := range answered {
			sum += n
		}
		return sum
	}, stop, nil
}
