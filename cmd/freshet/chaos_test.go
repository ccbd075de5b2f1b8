package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	chaosBlocks = flag.Int("chaos.blocks", 2, "blocks of the distributed kill test")
	chaosSeed   = flag.Uint64("chaos.seed", 1, "seed of the distributed kill test")
)

// The shape of a block, and what it may cost: a text is embedded again when who embedded it
// was killed before the commit.
const (
	roundsOfBlock = 3
	mostCalls     = 1.3
)

// victim is a part of a fleet that is killed and started again.
type victim interface {
	starter
	kill()
	called() string
}

func (p *process) called() string { return p.name }

// database is the fleet's PostgreSQL as a victim.
type database struct{ *fleet }

func (d database) kill()          { d.postgres.Kill() }
func (d database) start() error   { return d.postgres.Start(d.t.Context()) }
func (d database) called() string { return "postgres" }

func (f *fleet) victims() []victim {
	all := []victim{database{f}, f.host}
	for _, p := range append(f.nats, f.workers...) {
		all = append(all, p)
	}
	return all
}

// TestChaos kills random parts of a cluster with SIGKILL, several at once, and starts them
// again, while the tree is edited at 20 changes a second. When it is left alone, the index
// is that of a clean build, nothing is parked, and hardly a text was embedded twice.
func TestChaos(t *testing.T) {
	t.Parallel()
	t.Logf("seed %d", *chaosSeed)
	random := rand.New(rand.NewPCG(*chaosSeed, 5))
	f := newFleet(t, direct())
	e := &editor{tree: f.tree, random: rand.New(rand.NewPCG(*chaosSeed, 6))}
	for range 2 * places {
		if err := e.edit(); err != nil {
			t.Fatal(err)
		}
	}
	f.settle("before")
	for block := range *chaosBlocks {
		began, made := time.Now(), e.made
		stop := editing(t, e)
		for range roundsOfBlock {
			f.strike(random)
		}
		stop()
		edited := time.Since(began)
		f.settle(fmt.Sprintf("block %d of seed %d", block, *chaosSeed))
		texts, distinct := f.stub.counts()
		t.Logf("block %d: %d changes in %s, settled in %s, %d texts embedded of %d", block, e.made-made,
			edited.Round(time.Millisecond), (time.Since(began) - edited).Round(time.Millisecond), texts, distinct)
		if float64(texts) > mostCalls*float64(distinct) {
			t.Errorf("block %d: %d texts were embedded for %d distinct ones", block, texts, distinct)
		}
		if t.Failed() {
			return
		}
	}
}

// strike kills some parts at once, and starts them again after a while. The others have to
// live on.
func (f *fleet) strike(random *rand.Rand) {
	f.t.Helper()
	all := f.victims()
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	struck := all[:1+random.IntN(4)]
	f.wait(time.Duration(300+random.IntN(1200)) * time.Millisecond)
	var names []string
	var starters []starter
	for _, v := range struck {
		v.kill()
		names = append(names, v.called())
		starters = append(starters, v)
	}
	began := time.Now()
	f.wait(time.Duration(100+random.IntN(1500)) * time.Millisecond)
	startAll(f.t, starters...)
	f.t.Logf("killed %s, all serve %s later", strings.Join(names, ", "), time.Since(began).Round(time.Millisecond))
	if clients, met := f.unaided(struck); met {
		servedAtOnce(f.t, "killed "+strings.Join(names, ", "), clients...)
	}
	for _, p := range append(f.clients(), f.nats...) {
		if p.ended() {
			f.t.Fatalf("%s ended by itself when %s were killed", p.name, strings.Join(names, ", "))
		}
	}
}

// unaided returns those of the struck that need servers, and whether they had them when they
// were started again: PostgreSQL, and a majority of NATS.
func (f *fleet) unaided(struck []victim) (clients []*process, met bool) {
	servers := len(f.nats)
	met = true
	for _, v := range struck {
		p, ok := v.(*process)
		switch {
		case !ok:
			met = false
		case slices.Contains(f.nats, p):
			servers--
		default:
			clients = append(clients, p)
		}
	}
	return clients, met && 2*servers > len(f.nats)
}

// wait lets the fleet work for a while.
func (f *fleet) wait(d time.Duration) {
	ctx, cancel := context.WithTimeout(f.t.Context(), d)
	defer cancel()
	<-ctx.Done()
}
