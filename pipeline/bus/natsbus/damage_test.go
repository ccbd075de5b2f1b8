package natsbus_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/pipeline/bus/natsbus"
	"github.com/freshet/freshet/store"
)

// specimen is a log on disk whose truth is known.
type specimen struct {
	dir   string
	known store.LogPosition
	log   []bus.Stored
	floor uint64
}

// small makes the server cut its files into blocks of 32 KiB.
const small = 120_000

// specimenOf writes a log of several blocks, purges from its middle, acknowledges half of
// it, and closes it. older is a copy from halfway.
func specimenOf(t *testing.T) (whole, older specimen) {
	t.Helper()
	whole.dir = filepath.Join(t.TempDir(), "log")
	b := open(t, natsbus.Options{Dir: whole.dir, MaxBytes: small, RelaxedSync: true})
	fill := func(from, to int) {
		for n := from; n < to; n += 5 {
			publishBatch(t, b, store.CodebaseID([]string{"a", "b", "c"}[n/5%3]), n, 5, 700)
		}
	}
	fill(0, 60)
	must(t, b.Purge(t.Context(), "b", 0))
	acknowledge(t, b, 30)
	must(t, b.Close())
	older.dir = filepath.Join(filepath.Dir(whole.dir), "older")
	must(t, os.CopyFS(older.dir, os.DirFS(whole.dir)))
	b = open(t, natsbus.Options{Dir: whole.dir, MaxBytes: small, RelaxedSync: true})
	fill(60, 135)
	acknowledge(t, b, 30)
	whole.describe(t, b)
	must(t, b.Close())
	return whole, older
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func publishBatch(t testing.TB, b bus.Bus, id store.CodebaseID, from, n, size int) uint64 {
	t.Helper()
	batch := make([]bus.Message, n)
	for i := range batch {
		data := make([]byte, size)
		// Text that cannot be packed, so that the log grows by what is published.
		if _, err := rand.NewChaCha8([32]byte{byte(from + i), byte((from + i) >> 8)}).Read(data); err != nil {
			t.Fatal(err)
		}
		batch[i] = bus.Message{Codebase: id, Lane: bus.LaneSync, ID: fmt.Sprintf("%s/%d", id, from+i), Data: data}
	}
	last, err := b.Publish(t.Context(), batch, nil)
	must(t, err)
	return last
}

// acknowledge consumes n messages.
func acknowledge(t *testing.T, b bus.Bus, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	seen := 0
	must(t, b.Consume(ctx, bus.Consumer{Name: "w", Lanes: []bus.Lane{bus.LaneSync}}, func(context.Context, bus.Delivery) error {
		if seen++; seen >= n {
			cancel()
		}
		return nil
	}))
	if seen < n {
		t.Fatalf("%d deliveries, want %d", seen, n)
	}
	for state := (bus.State{}); state.Consumers["w"].InFlight > 0 || state.Last == 0; {
		var err error
		state, err = b.State(t.Context())
		must(t, err)
	}
}

func (s *specimen) describe(t *testing.T, b *natsbus.Bus) {
	t.Helper()
	state, err := b.State(t.Context())
	must(t, err)
	if state.Gap {
		t.Fatalf("a healthy log has a gap: %+v", state)
	}
	s.known = store.LogPosition{Incarnation: state.Incarnation, Sequence: state.Last}
	s.floor = state.Consumers["w"].AckFloor
	must(t, b.Read(t.Context(), 1, 0, func(m bus.Stored) error {
		s.log = append(s.log, m)
		return nil
	}))
}

// copied is a copy of the specimen that may be damaged.
func (s specimen) copied(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "log")
	must(t, os.CopyFS(dir, os.DirFS(s.dir)))
	return dir
}

// notice opens a log and says how its damage is noticed: by Open, by bus.Damage, or not at
// all because there is none: every message is there, and the consumer skips nothing.
func (s specimen) notice(t *testing.T, dir string) string {
	t.Helper()
	b := open(t, natsbus.Options{Dir: dir, MaxBytes: small, RelaxedSync: true})
	defer func() { must(t, b.Close()) }()
	state, err := b.State(t.Context())
	must(t, err)
	damage := bus.Damage(s.known, state)
	if report := b.Report(); report.Recreated {
		if damage != "recreated" || state.Messages != 0 || report.Reason == "" {
			t.Errorf("report %+v, but damage %q, state %+v", report, damage, state)
		}
		t.Log(report.Reason)
		return "open"
	}
	if damage != "" {
		return damage
	}
	var log []bus.Stored
	must(t, b.Read(t.Context(), 1, 0, func(m bus.Stored) error {
		log = append(log, m)
		return nil
	}))
	if diff := cmp.Diff(s.log, log); diff != "" {
		return "SILENT LOSS " + fmt.Sprint(len(s.log), " messages became ", len(log))
	}
	if floor := state.Consumers["w"].AckFloor; floor > s.floor {
		return fmt.Sprintf("SILENT SKIP floor %d became %d", s.floor, floor)
	}
	return "harmless"
}

// blocks lists the files of messages.
func blocks(t *testing.T, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "jetstream", "$G", "streams", "freshet-default", "msgs", "*.blk"))
	must(t, err)
	if len(names) < 3 {
		t.Fatalf("only %d blocks", len(names))
	}
	slices.SortFunc(names, func(a, b string) int {
		if len(a) != len(b) {
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
	return names
}

func change(t *testing.T, name string, f func([]byte) []byte) {
	t.Helper()
	data, err := os.ReadFile(name)
	must(t, err)
	must(t, os.WriteFile(name, f(data), 0o600))
}

func flip(at int) func([]byte) []byte {
	return func(b []byte) []byte {
		b[at%len(b)] ^= 0x10
		return b
	}
}

// flipHeaderLength changes the field, outside the server's checksum, that says where the
// headers of a message end. It takes the first message of codebase a in the block.
func flipHeaderLength(t *testing.T, block []byte, bits byte) []byte {
	t.Helper()
	subject := []byte("freshet.default.a.sync")
	at := bytes.Index(block, subject)
	if at < 0 {
		t.Fatal("no message of codebase a in the block")
	}
	block[at+len(subject)] ^= bits
	return block
}

func truncate(b []byte) []byte { return b[:len(b)/2] }

// TestStreamDamageIsNoticed: a stream deleted, truncated, flipped by a byte or restored
// from an old copy is noticed.
func TestStreamDamageIsNoticed(t *testing.T) {
	t.Parallel()
	whole, older := specimenOf(t)
	stream := func(dir string) string { return filepath.Join(dir, "jetstream", "$G", "streams", "freshet-default") }
	consumer := func(dir string) string {
		names, err := filepath.Glob(filepath.Join(stream(dir), "obs", "w-*"))
		must(t, err)
		if len(names) != 1 {
			t.Fatalf("consumers %v", names)
		}
		return names[0]
	}
	write := func(name string) { must(t, os.WriteFile(name, []byte("no longer what it was"), 0o600)) }
	for _, c := range []struct {
		name   string
		damage func(t *testing.T, dir string)
		want   string
	}{
		{"none", func(*testing.T, string) {}, "harmless"},
		{"everything deleted", func(t *testing.T, dir string) { must(t, os.RemoveAll(dir)) }, "recreated"},
		{"stream deleted", func(t *testing.T, dir string) { must(t, os.RemoveAll(stream(dir))) }, "recreated"},
		{"stream recreated", func(t *testing.T, dir string) {
			b := open(t, natsbus.Options{Dir: dir, MaxBytes: small, RelaxedSync: true})
			_, err := b.Reset(t.Context())
			must(t, err)
			for range 3 {
				publishBatch(t, b, store.CodebaseID(fmt.Sprintf("x%d", rand.IntN(1e9))), 0, 100, 10)
			}
			must(t, b.Close())
		}, "recreated"},
		{"old copy restored", func(t *testing.T, dir string) {
			must(t, os.RemoveAll(dir))
			must(t, os.CopyFS(dir, os.DirFS(older.dir)))
		}, "regressed"},
		{"old stream under new consumers", func(t *testing.T, dir string) {
			must(t, os.RemoveAll(filepath.Join(stream(dir), "msgs")))
			must(t, os.CopyFS(filepath.Join(stream(dir), "msgs"), os.DirFS(filepath.Join(stream(older.dir), "msgs"))))
		}, "regressed"},
		{"old consumers under the new stream", func(t *testing.T, dir string) {
			must(t, os.RemoveAll(filepath.Join(stream(dir), "obs")))
			must(t, os.CopyFS(filepath.Join(stream(dir), "obs"), os.DirFS(filepath.Join(stream(older.dir), "obs"))))
		}, "harmless"},
		{"messages deleted", func(t *testing.T, dir string) { must(t, os.RemoveAll(filepath.Join(stream(dir), "msgs"))) }, "regressed"},
		{"byte flipped in the first block", func(t *testing.T, dir string) { change(t, blocks(t, dir)[0], flip(10_000)) }, "gap"},
		{"byte flipped in the middle", func(t *testing.T, dir string) { change(t, blocks(t, dir)[1], flip(10_000)) }, "gap"},
		{"byte flipped in the last block", func(t *testing.T, dir string) {
			all := blocks(t, dir)
			change(t, all[len(all)-1], flip(1_000))
		}, "regressed"},
		{"first block truncated", func(t *testing.T, dir string) { change(t, blocks(t, dir)[0], truncate) }, "gap"},
		{"last block truncated", func(t *testing.T, dir string) {
			all := blocks(t, dir)
			change(t, all[len(all)-1], truncate)
		}, "regressed"},
		{"first block deleted", func(t *testing.T, dir string) { must(t, os.Remove(blocks(t, dir)[0])) }, "gap"},
		{"middle block deleted", func(t *testing.T, dir string) { must(t, os.Remove(blocks(t, dir)[1])) }, "gap"},
		{"last block deleted", func(t *testing.T, dir string) {
			all := blocks(t, dir)
			must(t, os.Remove(all[len(all)-1]))
		}, "regressed"},
		{"summary stale", func(t *testing.T, dir string) {
			name := filepath.Join("msgs", "index.db")
			data, err := os.ReadFile(filepath.Join(stream(older.dir), name))
			must(t, err)
			must(t, os.WriteFile(filepath.Join(stream(dir), name), data, 0o600))
		}, "harmless"},
		{"length of a message's headers flipped", func(t *testing.T, dir string) {
			name := blocks(t, dir)[1]
			change(t, name, func(b []byte) []byte { return flipHeaderLength(t, b, 0x01) })
		}, "gap"},
		{"message made undeliverable", func(t *testing.T, dir string) {
			name := blocks(t, dir)[1]
			change(t, name, func(b []byte) []byte { return flipHeaderLength(t, b, 0x80) })
		}, "gap"},
		{"consumer's floor raised", func(t *testing.T, dir string) {
			change(t, filepath.Join(consumer(dir), "o.dat"), func(b []byte) []byte {
				b[3] ^= 0x08
				return b
			})
		}, "harmless"},
		{"sums of consumers broken", func(t *testing.T, dir string) {
			write(filepath.Join(dir, "consumers.json"))
		}, "harmless"},
		{"consumer state emptied", func(t *testing.T, dir string) {
			must(t, os.Truncate(filepath.Join(consumer(dir), "o.dat"), 0))
		}, "harmless"},
		{"consumer metadata broken", func(t *testing.T, dir string) { write(filepath.Join(consumer(dir), "meta.inf")) }, "harmless"},
		{"consumer deleted", func(t *testing.T, dir string) { must(t, os.RemoveAll(consumer(dir))) }, "harmless"},
		{"stream metadata broken", func(t *testing.T, dir string) { write(filepath.Join(stream(dir), "meta.inf")) }, "open"},
		{"stream metadata flipped", func(t *testing.T, dir string) {
			change(t, filepath.Join(stream(dir), "meta.inf"), flip(300))
		}, "open"},
		{"stream metadata gone", func(t *testing.T, dir string) { must(t, os.Remove(filepath.Join(stream(dir), "meta.inf"))) }, "open"},
		{"stream checksum broken", func(t *testing.T, dir string) { write(filepath.Join(stream(dir), "meta.sum")) }, "open"},
		{"dead letters' metadata broken", func(t *testing.T, dir string) {
			write(filepath.Join(stream(dir)+"-dead", "meta.inf"))
		}, "open"},
		{"streams are a file", func(t *testing.T, dir string) {
			must(t, os.RemoveAll(filepath.Join(dir, "jetstream")))
			write(filepath.Join(dir, "jetstream"))
		}, "open"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := whole.copied(t)
			c.damage(t, dir)
			if got := whole.notice(t, dir); got != c.want {
				t.Errorf("noticed as %q, want %q", got, c.want)
			}
		})
	}
}

var flips = flag.Int("flips", 8, "bytes of a log that are flipped, one at a time; each day others")

// TestAnyFlippedByteIsNoticed flips single bytes all over the files of a log.
func TestAnyFlippedByteIsNoticed(t *testing.T) {
	t.Parallel()
	whole, _ := specimenOf(t)
	var names []string
	must(t, fs.WalkDir(os.DirFS(whole.dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			names = append(names, name)
		}
		return err
	}))
	today := uint64(time.Now().Unix() / 86400)
	random := rand.New(rand.NewPCG(1, today))
	random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	counts := map[string]int{}
	for i := range *flips {
		name := names[i%len(names)]
		dir := whole.copied(t)
		at := 0
		change(t, filepath.Join(dir, name), func(b []byte) []byte {
			if len(b) > 0 {
				at = random.IntN(len(b))
				b[at] ^= 1 << random.IntN(8)
			}
			return b
		})
		got := whole.notice(t, dir)
		if strings.HasPrefix(got, "SILENT") {
			t.Errorf("byte %d of %s: %s", at, name, got)
		}
		counts[filepath.Ext(name)+" "+got]++
		must(t, os.RemoveAll(filepath.Dir(dir)))
	}
	t.Logf("day %d: %v", today, counts)
}
