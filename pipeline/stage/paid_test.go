package stage

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/pipeline/embedding"
	"github.com/freshet/freshet/pipeline/embedding/openai"
	"github.com/freshet/freshet/pipeline/embedding/served"
	"github.com/freshet/freshet/pipeline/event"
	"github.com/freshet/freshet/pipeline/remote"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/memstore"
	"github.com/freshet/freshet/sync/merkle"
)

// pipes is a network in memory, so that a real HTTP client and server share the clock of a
// synctest bubble.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.done) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes"} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.conns <- there:
		return here, nil
	case <-p.done:
	case <-ctx.Done():
	}
	return nil, net.ErrClosed
}

// serve starts a server that ends with the returned function.
func serve(h http.Handler) (transport *http.Transport, end func()) {
	p := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
	server := &http.Server{Handler: h} //nolint:gosec // it reads from this process
	go func() { _ = server.Serve(p) }()
	transport = &http.Transport{DialContext: p.dial}
	return transport, func() {
		transport.CloseIdleConnections()
		_ = server.Close()
	}
}

const dimension = sha256.Size

// service speaks the wire format of OpenAI's embeddings API, with limits and faults.
type service struct {
	t       *testing.T
	latency time.Duration
	// admit refuses a request by writing an answer and returning false; nil takes all.
	admit func(rw http.ResponseWriter, now time.Time) bool
	// fault spoils an answer to n texts that was computed, by handling it and returning true.
	fault func(rw http.ResponseWriter, r *http.Request, rows []map[string]any) bool

	mu                   sync.Mutex // guards what follows
	paid, refused, calls int        // texts that were computed, texts that were not, answers
	most                 int        // texts in one request
	sent                 map[string]int
}

func (s *service) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	data, err := io.ReadAll(r.Body)
	var in struct {
		Input []string `json:"input"`
	}
	if err != nil || json.Unmarshal(data, &in) != nil {
		return // a connection that ended
	}
	s.mu.Lock()
	if s.admit != nil && !s.admit(rw, time.Now()) {
		s.refused += len(in.Input)
		s.mu.Unlock()
		return
	}
	s.calls++
	s.paid += len(in.Input)
	s.most = max(s.most, len(in.Input))
	rows := make([]map[string]any, len(in.Input))
	for i, text := range in.Input {
		s.sent[text]++
		rows[i] = map[string]any{"object": "embedding", "index": i, "embedding": signs(text)}
	}
	s.mu.Unlock()
	time.Sleep(s.latency) // of the bubble's clock
	if s.fault != nil && s.fault(rw, r, rows) {
		return
	}
	answer(rw, rows)
}

// signs is a vector that tells a text from all others.
func signs(text string) []float32 {
	v := make([]float32, dimension)
	for i, b := range sha256.Sum256([]byte(text)) {
		v[i] = float32(b&1)*2 - 1
	}
	return v
}

func answer(rw http.ResponseWriter, rows []map[string]any) {
	rw.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(rw).Encode(map[string]any{"object": "list", "data": rows})
}

// windowLimit refuses more than so many requests in a window that slides. say writes what the
// service tells of its limit.
func windowLimit(requests int, per time.Duration, say func(h http.Header, left int, wait time.Duration)) func(http.ResponseWriter, time.Time) bool {
	var taken []time.Time
	return func(rw http.ResponseWriter, now time.Time) bool {
		for len(taken) > 0 && now.Sub(taken[0]) >= per {
			taken = taken[1:]
		}
		if len(taken) == requests {
			say(rw.Header(), 0, taken[0].Add(per).Sub(now))
			http.Error(rw, `{"error":{"message":"Rate limit reached"}}`, http.StatusTooManyRequests)
			return false
		}
		taken = append(taken, now)
		say(rw.Header(), requests-len(taken), taken[0].Add(per).Sub(now))
		return true
	}
}

// provider makes a provider of the process over a transport.
func provider(t *testing.T, transport http.RoundTripper) *served.Provider {
	t.Helper()
	s, err := remote.New(remote.Options{URL: "http://127.0.0.1:1/v1", Transport: transport})
	if err != nil {
		t.Fatal(err)
	}
	p, err := served.New(served.Options{
		Service: s, Name: "openai", Model: "m", Dimension: dimension, Limits: openai.Limits(),
		Wire: &openai.Wire{Service: s, Model: "m"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// corpus is a store with codebases whose files hold texts that repeat, and the events that
// have them embedded.
type corpus struct {
	store  store.Store
	recipe store.Recipe
	events [][]byte
	keys   []store.SyntaxKey
	texts  []merkle.Hash // distinct
	bodies map[merkle.Hash]string
}

// newCorpus makes so many chunks of distinct texts in files of twelve, and at least three
// events for each of so many codebases with the same files.
func newCorpus(t *testing.T, s store.Store, chunks, distinct, codebases int) *corpus {
	t.Helper()
	c := &corpus{store: s, bodies: map[merkle.Hash]string{}, recipe: store.Recipe{Embedding: store.EmbeddingRecipe{Provider: "openai", Model: "m", Dimension: dimension}}}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var files []event.File
	for at := 0; at < chunks; at += 12 {
		var data []byte
		var x store.Syntax
		for i := at; i < min(at+12, chunks); i++ {
			body := fmt.Sprintf("func F%d() {}\n", i%distinct)
			h := merkle.Hash(sha256.Sum256([]byte(body)))
			x.Chunks = append(x.Chunks, store.Chunk{Start: uint32(len(data)), End: uint32(len(data) + len(body)), TextHash: h})
			data = append(data, body...)
			if _, ok := c.bodies[h]; !ok {
				c.bodies[h] = body
				c.texts = append(c.texts, h)
			}
		}
		data = fmt.Appendf(data, "// %d", at)
		h := merkle.Hash(sha256.Sum256(data))
		f := event.File{Path: fmt.Sprintf("f%05d.go", at), Content: h, Size: int64(len(data)), Language: "Go"}
		key := store.SyntaxKey{Content: h, Version: c.recipe.SyntaxVersion("Go")}
		must(s.PutContents(t.Context(), []store.Content{{Hash: h, Data: data}}))
		must(s.PutSyntax(t.Context(), []store.SyntaxRecord{{Key: key, Syntax: x}}))
		files, c.keys = append(files, f), append(c.keys, key)
	}
	for n := range codebases {
		id := store.CodebaseID(fmt.Sprint("c", n))
		_, err := s.Register(t.Context(), store.Codebase{ID: id, Name: string(id), Root: "/" + string(id)})
		must(err)
		o := store.Opening{Codebase: id, Number: 1, Recipe: c.recipe, Root: merkle.Hash{1}, At: time.Unix(1, 0)}
		for _, f := range files {
			o.Upserts = append(o.Upserts, store.FileEntry{Path: f.Path, Content: f.Content, Size: f.Size, Language: "Go"})
		}
		_, err = s.Open(t.Context(), o)
		must(err)
		third := (len(files) + 2) / 3
		for part := 0; part*third < len(files); part++ {
			base := event.Event{Codebase: id, Snapshot: 1, Fingerprint: c.recipe.Fingerprint(), At: time.Unix(int64(part), 0)}
			for _, changed := range event.Again(base, files[part*third:min((part+1)*third, len(files))]) {
				data, err := event.Encode(event.Chunked(changed, changed.Changed.Files, time.Unix(1, 0)))
				must(err)
				c.events = append(c.events, data)
			}
		}
	}
	return c
}

// deliver hands every event to an embedder, as a bus does: three at once, again when it fails,
// until all are done or ctx ends.
func (c *corpus) deliver(ctx context.Context, m *Embedder) {
	var workers sync.WaitGroup
	queue := make(chan []byte, len(c.events))
	for _, data := range c.events {
		queue <- data
	}
	close(queue)
	for range 3 {
		workers.Go(func() {
			for data := range queue {
				for tries := 1; ctx.Err() == nil; tries++ {
					err := m.Handle(ctx, bus.Delivery{Stored: bus.Stored{Message: bus.Message{Data: data}}})
					fate, after := bus.FateOf(err, tries)
					if fate != bus.Redeliver {
						break
					}
					if bus.Pause(ctx, after) != nil {
						return
					}
				}
			}
		})
	}
	workers.Wait()
}

// wantAll fails the test unless every text has its vector and every file is marked.
func (c *corpus) wantAll(t *testing.T) {
	t.Helper()
	vectors, err := c.store.Vectors(t.Context(), c.recipe.Embedding.Key(), c.texts)
	if err != nil || len(vectors) != len(c.texts) {
		t.Errorf("%d of %d texts have a vector, %v", len(vectors), len(c.texts), err)
	}
	marked, err := c.store.HasEmbedded(t.Context(), c.recipe.Embedding.Key(), c.keys)
	if err != nil || len(marked) != len(c.keys) {
		t.Errorf("%d of %d files are embedded, %v", len(marked), len(c.keys), err)
	}
	for h, body := range c.bodies { // no vector is another text's
		want := signs(body)
		for j, x := range vectors[h].Data {
			if (x > 0) != (want[j] > 0) {
				t.Fatalf("the vector of %q is another text's", body)
			}
		}
	}
}

func seconds(h http.Header, wait time.Duration) {
	h.Set("Retry-After", strconv.Itoa(int((wait+time.Second-1)/time.Second)))
}

// Promise 12: with a limit of requests, every text is paid for once, whatever the service says
// of its limit, and little is sent that is refused.
func TestRateLimitCostsNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		say     func(h http.Header, left int, wait time.Duration)
		refused int // texts, at most
	}{
		"Retry-After in seconds": {func(h http.Header, left int, wait time.Duration) {
			if left == 0 {
				seconds(h, wait)
			}
		}, 3 * startTexts},
		"Retry-After as a date": {func(h http.Header, left int, wait time.Duration) {
			if left == 0 {
				h.Set("Retry-After", time.Now().Add(wait+time.Second).UTC().Format(http.TimeFormat))
			}
		}, 3 * startTexts},
		"nothing": {func(http.Header, int, time.Duration) {}, 6 * startTexts},
		"OpenAI's headers": {func(h http.Header, left int, wait time.Duration) {
			h.Set("X-Ratelimit-Limit-Requests", "3")
			h.Set("X-Ratelimit-Remaining-Requests", strconv.Itoa(left))
			h.Set("X-Ratelimit-Reset-Requests", wait.String())
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &service{t: t, sent: map[string]int{}, latency: 100 * time.Millisecond, admit: windowLimit(3, 4*time.Second, c.say)}
				transport, end := serve(s)
				defer end()
				corpus := newCorpus(t, memstore.New(memstore.Options{}), 2160, 1536, 1)
				began := time.Now()
				corpus.deliver(t.Context(), NewEmbedder(Deps{Store: corpus.store, Bus: sink{}, Recipe: corpus.recipe}, provider(t, transport)))
				corpus.wantAll(t)
				t.Logf("%d texts paid for %d distinct in %d calls, %d texts refused, %v", s.paid, len(corpus.texts), s.calls, s.refused, time.Since(began))
				if s.paid != len(corpus.texts) || s.refused > c.refused {
					t.Errorf("%d texts paid and %d refused, want %d and at most %d", s.paid, s.refused, len(corpus.texts), c.refused)
				}
			})
		})
	}
}

// The same texts in several codebases, handed out at once, are paid for once.
func TestTextsOfSeveralCodebasesArePaidOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &service{t: t, sent: map[string]int{}, latency: time.Second}
		transport, end := serve(s)
		defer end()
		corpus := newCorpus(t, memstore.New(memstore.Options{}), 2160, 1536, 4)
		corpus.deliver(t.Context(), NewEmbedder(Deps{Store: corpus.store, Bus: sink{}, Recipe: corpus.recipe}, provider(t, transport)))
		corpus.wantAll(t)
		if s.paid != len(corpus.texts) {
			t.Errorf("%d texts were paid, want %d", s.paid, len(corpus.texts))
		}
	})
}

// maxPaid is how much of what is needed may be paid, in texts for one.
const maxPaid = 1.05

// Promise 12 in a bad week: refusals with and without a time, errors, answers with missing
// rows, and a request that times out, a connection that breaks after the work was done or an
// answer that is of no use. What is counted is every text that the service computed; nothing is
// sent twice but what was lost.
func TestFaultsCostLittle(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				random := rand.New(rand.NewPCG(seed, 1)) // guarded by the service's mutex or mu
				var mu sync.Mutex
				roll := func() float64 { mu.Lock(); defer mu.Unlock(); return random.Float64() }
				lost := 0
				s := &service{t: t, sent: map[string]int{}, latency: 200 * time.Millisecond}
				s.admit = func(rw http.ResponseWriter, _ time.Time) bool {
					switch x := roll(); {
					case x < 0.04:
						rw.Header().Set("Retry-After", "2")
						http.Error(rw, "slow down", http.StatusTooManyRequests)
					case x < 0.07:
						http.Error(rw, "slow down", http.StatusTooManyRequests)
					case x < 0.10:
						http.Error(rw, "broken", http.StatusInternalServerError)
					default:
						return true
					}
					return false
				}
				answers, fatal := 0, 5+random.IntN(50) // the answer that is lost
				s.fault = func(rw http.ResponseWriter, r *http.Request, rows []map[string]any) bool {
					mu.Lock()
					answers++
					kind := 0
					switch {
					case answers == fatal:
						kind = 1 + int(seed%3)
						lost += len(rows)
					case answers%20 == 0 && len(rows) > 2:
						kind = 4
						lost += 2
					}
					mu.Unlock()
					switch kind {
					case 1:
						<-r.Context().Done() // it times out
					case 2:
						panic(http.ErrAbortHandler)
					case 3:
						answer(rw, rows[:len(rows)-1]) // nothing says which is missing
					case 4:
						answer(rw, rows[2:])
					}
					return kind > 0
				}
				transport, end := serve(s)
				defer end()
				corpus := newCorpus(t, memstore.New(memstore.Options{}), 8000, 6000, 2)
				corpus.deliver(t.Context(), NewEmbedder(Deps{Store: corpus.store, Bus: sink{}, Recipe: corpus.recipe}, provider(t, transport)))
				corpus.wantAll(t)
				ratio := float64(s.paid) / float64(len(corpus.texts))
				t.Logf("%d texts paid for %d distinct (%.3f) in %d calls of at most %d, %d lost on the way, %d refused", s.paid, len(corpus.texts), ratio, s.calls, s.most, lost, s.refused)
				if ratio > maxPaid || s.paid != len(corpus.texts)+lost {
					t.Errorf("%d texts were paid (%.3f), want the %d that are needed and the %d that were lost, and at most %v", s.paid, ratio, len(corpus.texts), lost, maxPaid)
				}
			})
		})
	}
}

// A service that is away for hours, and swallows every request, costs next to nothing: one
// text at a time is tried.
func TestOutageCostsLittle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		s := &service{t: t, sent: map[string]int{}, latency: 200 * time.Millisecond}
		s.fault = func(_ http.ResponseWriter, r *http.Request, _ []map[string]any) bool {
			if at := time.Since(began); at < 5*time.Second || at > 2*time.Hour {
				return false
			}
			<-r.Context().Done()
			return true
		}
		transport, end := serve(s)
		defer end()
		corpus := newCorpus(t, memstore.New(memstore.Options{}), 7000, 7000, 1)
		corpus.deliver(t.Context(), NewEmbedder(Deps{Store: corpus.store, Bus: sink{}, Recipe: corpus.recipe}, provider(t, transport)))
		corpus.wantAll(t)
		ratio := float64(s.paid) / float64(len(corpus.texts))
		t.Logf("%d texts paid for %d distinct (%.3f) in %d calls", s.paid, len(corpus.texts), ratio, s.calls)
		if ratio > maxPaid {
			t.Errorf("%.3f texts were paid for each that was needed, want at most %v", ratio, maxPaid)
		}
	})
}

// dying is a store that a process writes to until it is killed.
type dying struct {
	store.Store
	dead func() bool
}

func (d dying) PutVectors(ctx context.Context, embedding string, vectors []store.VectorRecord, done []store.SyntaxKey) error {
	if d.dead() {
		return store.ErrClosed
	}
	return d.Store.PutVectors(ctx, embedding, vectors, done)
}

// A process that is killed while requests are under way loses only those, which are few, and
// the next one pays for nothing that was stored.
func TestKillCostsWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	for _, after := range []int{1, 5, 12, 20} { // answers
		t.Run(fmt.Sprint("after ", after), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, kill := context.WithCancel(t.Context())
				s := &service{t: t, sent: map[string]int{}, latency: time.Second, admit: windowLimit(3, 4*time.Second, func(h http.Header, left int, wait time.Duration) {
					if left == 0 {
						seconds(h, wait)
					}
				})}
				answers := 0
				s.fault = func(http.ResponseWriter, *http.Request, []map[string]any) bool {
					if answers++; answers == after {
						kill() // the answer arrives, and nobody is there
					}
					return false
				}
				transport, end := serve(s)
				defer end()
				corpus := newCorpus(t, memstore.New(memstore.Options{}), 2160, 1536, 1)
				first := dying{corpus.store, func() bool { return ctx.Err() != nil }}
				corpus.deliver(ctx, NewEmbedder(Deps{Store: first, Bus: sink{}, Recipe: corpus.recipe}, provider(t, transport)))
				corpus.deliver(t.Context(), NewEmbedder(Deps{Store: corpus.store, Bus: sink{}, Recipe: corpus.recipe}, provider(t, transport)))
				corpus.wantAll(t)
				ratio := float64(s.paid) / float64(len(corpus.texts))
				t.Logf("%d texts paid for %d distinct (%.3f)", s.paid, len(corpus.texts), ratio)
				if ratio > maxPaid {
					t.Errorf("%.3f texts were paid for each that was needed, want at most %v", ratio, maxPaid)
				}
			})
		})
	}
}

// A process that is asked to end keeps what is under way.
func TestStopKeepsWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		s := &service{t: t, sent: map[string]int{}, latency: time.Second}
		s.fault = func(http.ResponseWriter, *http.Request, []map[string]any) bool { stop(); return false }
		transport, end := serve(s)
		defer end()
		corpus := newCorpus(t, memstore.New(memstore.Options{}), 600, 600, 1)
		p := provider(t, transport)
		corpus.deliver(ctx, NewEmbedder(Deps{Store: corpus.store, Bus: sink{}, Recipe: corpus.recipe}, p))
		paid := s.paid
		vectors, err := corpus.store.Vectors(t.Context(), corpus.recipe.Embedding.Key(), corpus.texts)
		if err != nil || paid == 0 || len(vectors) != paid {
			t.Errorf("%d vectors are stored of %d texts that were paid, %v", len(vectors), paid, err)
		}
	})
}

// A store that takes no vectors for a while does not make them be paid for twice.
func TestStoreOutageCostsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		s := &service{t: t, sent: map[string]int{}, latency: time.Second}
		transport, end := serve(s)
		defer end()
		corpus := newCorpus(t, memstore.New(memstore.Options{}), 2160, 1536, 1)
		flaky := dying{corpus.store, func() bool { at := time.Since(began); return at > 3*time.Second && at < time.Minute }}
		corpus.deliver(t.Context(), NewEmbedder(Deps{Store: flaky, Bus: sink{}, Recipe: corpus.recipe}, provider(t, transport)))
		corpus.wantAll(t)
		if s.paid != len(corpus.texts) {
			t.Errorf("%d texts were paid, want %d", s.paid, len(corpus.texts))
		}
	})
}

// A query is not starved by the texts of an index: where requests are spaced out it goes
// first, and while the service refuses all it is told so at once.
func TestQueryIsNotStarved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &service{t: t, sent: map[string]int{}, latency: 100 * time.Millisecond, admit: windowLimit(60, time.Minute, func(h http.Header, left int, wait time.Duration) {
			if left == 0 {
				seconds(h, wait)
			}
		})}
		transport, end := serve(s)
		defer end()
		corpus := newCorpus(t, memstore.New(memstore.Options{}), 7000, 7000, 1)
		p := provider(t, transport)
		done := make(chan struct{})
		go func() {
			defer close(done)
			corpus.deliver(t.Context(), NewEmbedder(Deps{Store: corpus.store, Bus: sink{}, Recipe: corpus.recipe}, p))
		}()
		answered, told := 0, 0
		for i := range 18 {
			time.Sleep(10 * time.Second)
			began := time.Now()
			_, err := p.EmbedQuery(t.Context(), fmt.Sprint("query ", i))
			took := time.Since(began)
			switch wait, why := p.Waiting(); {
			case err == nil:
				answered++
			case wait > 0 && why != "":
				told++
			default:
				t.Errorf("query %d: %v, and the provider waits for nothing", i, err)
			}
			if took > 2*time.Second {
				t.Errorf("query %d took %v", i, took)
			}
		}
		<-done
		corpus.wantAll(t)
		t.Logf("%d queries answered, %d told to wait", answered, told)
		if answered < 9 { // the limit is used up before it is known, for most of a minute
			t.Errorf("%d of 18 queries were answered", answered)
		}
	})
}

var _ embedding.Waiter = (*served.Provider)(nil)
