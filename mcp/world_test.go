package mcpserver

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/mcp/tool/tooltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// worldCaller answers from a world in memory, by way of JSON as a socket does. A search for
// "block" lasts until its context ends.
type worldCaller struct {
	world   *tooltest.World
	blocked chan struct{} // takes one value for each search that blocks; nil for none
	ended   chan struct{} // and one for each that was ended
	texts   *texts
}

// texts are the answers as they ought to be sent, with a name for each.
type texts struct {
	mu    sync.Mutex
	names map[string]string
}

func (x *texts) add(name string, e *tool.Envelope) {
	x.mu.Lock()
	defer x.mu.Unlock()
	outcome := "answered"
	if e.Error != nil {
		outcome = string(e.Error.Code)
	}
	for _, format := range []string{"markdown", "json"} {
		x.names[tool.Render(e, format)] = "«" + name + " " + outcome + " in " + format + "»"
	}
}

// shorten puts the names of texts in the place of the texts in a message.
func (x *texts) shorten(message string) string {
	x.mu.Lock()
	defer x.mu.Unlock()
	for text, name := range x.names {
		message = strings.ReplaceAll(message, quote(text), quote(name))
	}
	return message
}

func quote(text string) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(text); err != nil {
		panic(err) // a string
	}
	return strings.TrimSuffix(b.String(), "\n")
}

const root = "/src/web"

func newWorldCaller() worldCaller {
	world := tooltest.New()
	world.Write(root, "main.go", "package main\n\n// Serve answers requests until it is closed.\nfunc Serve() error { return nil }\n")
	world.Write(root, "retry.go", "package main\n\n// Retry tries again with a growing pause.\nfunc Retry(n int) int { return n }\n")
	return worldCaller{world: world, blocked: make(chan struct{}, 64), ended: make(chan struct{}, 64), texts: &texts{names: map[string]string{}}}
}

func (c worldCaller) Call(ctx context.Context, name string, params any, observe tool.Observer) (*tool.Envelope, error) {
	raw, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	var asked struct {
		Query string `json:"query"`
	}
	if json.Unmarshal(raw, &asked) == nil && asked.Query == "block" {
		c.blocked <- struct{}{}
		<-ctx.Done()
		c.ended <- struct{}{}
		return nil, ctx.Err()
	}
	data, err := json.Marshal(tool.Dispatch(ctx, c.world.Backend(), name, raw, observe))
	if err != nil {
		return nil, err
	}
	var e tool.Envelope
	if err := json.Unmarshal(data, &e); err != nil {
		return nil, err
	}
	c.texts.add(name, &e)
	return &e, nil
}

// indexed is a world whose codebase is indexed.
func indexed(t *testing.T) worldCaller {
	t.Helper()
	c := newWorldCaller()
	envelope, err := c.Call(t.Context(), "index", tool.ManageParams{Path: root, Wait: true}, func(tool.Notice) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	if envelope.Error != nil {
		t.Fatal(envelope.Error)
	}
	return c
}

func newServer(t *testing.T, caller Caller, o Options) *Server {
	t.Helper()
	if o.Version == "" {
		o.Version = "1.0.0"
	}
	if o.Now == nil {
		o.Now = tooltest.Now
	}
	s, err := New(caller, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
