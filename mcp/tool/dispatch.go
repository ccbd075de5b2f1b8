package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"time"
)

// handler answers one verb into the envelope that it is given. The envelope keeps what was
// filled in before an error.
type handler func(ctx context.Context, c *call, params json.RawMessage) error

type verb struct {
	name   string
	handle handler
}

func verbs() []verb {
	return []verb{
		{"search", decoded((*call).search)},
		{"read", decoded((*call).read)},
		{"status", decoded((*call).status)},
		{"why", decoded((*call).why)},
		{"index", decoded((*call).index)},
		{"sync", decoded((*call).sync)},
		{"reindex", decoded((*call).reindex)},
		{"cancel", decoded((*call).cancel)},
		{"clear", decoded((*call).clear)},
		{"snapshots", decoded((*call).snapshots)},
		{"diff", decoded((*call).diff)},
		{"export", decoded((*call).export)},
		{"verify", decoded((*call).verify)},
		{"replay", decoded((*call).replay)},
		{"record", decoded((*call).record)},
		{"events", decoded((*call).events)},
		{"gc", decoded((*call).collect)},
		{"dead-letters", decoded((*call).deadLetters)},
	}
}

// tools are the verbs that agents call: their answers are shaped for a reader with a
// budget.
func tools() []verb {
	return []verb{
		{ToolSearch, decoded((*call).search)},
		{ToolRead, decoded((*call).read)},
		{ToolList, decoded((*call).listCodebases)},
		{ToolCompare, decoded((*call).diff)},
		{ToolManage, decoded((*call).manageIndex)},
	}
}

// Verbs lists the names of the command line that Dispatch knows.
func Verbs() []string {
	var names []string
	for _, v := range verbs() {
		names = append(names, v.name)
	}
	return names
}

// Dispatch calls a verb or a tool with its parameters in JSON and always returns an
// envelope: errors are in it. The answer of a tool fits the budget of its parameters in the
// format that they name, as Render gives it. observe is called from the calling goroutine's stack only, and may be nil.
// Parameters with unknown members are refused, so that a misspelt one is not ignored.
func Dispatch(ctx context.Context, b *Backend, name string, params json.RawMessage, observe Observer) *Envelope {
	c := newCall(b, observe)
	named := func(v verb) bool { return v.name == name }
	if all := tools(); slices.ContainsFunc(all, named) {
		c.tool, c.repeat, c.scope = name, arguments(params), scopeOf(params)
		c.shape = Shape{Verbosity: VerbosityStandard, MaxTokens: DefaultMaxTokens, Format: FormatMarkdown}
		return c.finish(ctx, name, all[slices.IndexFunc(all, named)].handle(ctx, c, params))
	}
	all := verbs()
	at := slices.IndexFunc(all, named)
	if at < 0 {
		return c.finish(ctx, name, Invalid("verb", "there is no verb "+name, Verbs()...))
	}
	c.scope = scopeOf(params)
	return c.finish(ctx, name, all[at].handle(ctx, c, params))
}

// Failed is an envelope for an error that was met outside of a handler.
func Failed(err error) *Envelope {
	return newCall(&Backend{}, nil).finish(context.Background(), "", err)
}

func decoded[P any](handle func(*call, context.Context, P) error) handler {
	return func(ctx context.Context, c *call, raw json.RawMessage) error {
		var params P
		if len(raw) > 0 {
			if err := checkArguments(raw, reflect.TypeFor[P]()); err != nil {
				return err
			}
			decoder := json.NewDecoder(bytes.NewReader(raw))
			decoder.DisallowUnknownFields()
			if err := decoder.Decode(&params); err != nil {
				return wrongType(raw, reflect.TypeFor[P]())
			}
		}
		if p, ok := any(&params).(pathful); ok {
			if err := p.unquote(); err != nil {
				return err
			}
		}
		if p, ok := any(&params).(shapely); ok {
			if err := c.form(p.wanted()); err != nil {
				return err
			}
		}
		return handle(c, ctx, params)
	}
}

// call is one call on its way: the envelope that it fills, and how it reports progress.
type call struct {
	*Backend
	env    *Envelope
	tool   string // the name of the tool, "" for a verb
	shape  Shape
	page   *page          // the list that may be cut, nil when there is none
	repeat map[string]any // the arguments of the tool, to be repeated in a next step
	scope  Scope          // as the call gave it

	memory *agentSession        // nil without a session
	shown  map[string]shownItem // the hits of this answer by id, as the session keeps them
	scores map[string]float64   // the scores of those hits, lifted by recent work
	ranked bool                 // the hits of this answer are ordered by score

	observe Observer
	now     func() time.Time
	started time.Time
}

func newCall(b *Backend, observe Observer) *call {
	now := b.Now
	if now == nil {
		now = time.Now
	}
	if observe == nil {
		observe = func(Notice) error { return nil }
	}
	unbounded := Shape{Verbosity: VerbosityFull, MaxTokens: -1, Format: FormatMarkdown}
	return &call{Backend: masked(b), env: newEnvelope(), observe: observe, shape: unbounded, now: now, started: now()}
}

// arguments are the parameters of a call as its client gave them.
func arguments(params json.RawMessage) map[string]any {
	given := map[string]any{}
	if err := json.Unmarshal(params, &given); err != nil {
		return nil // the handler says what is wrong with them
	}
	for _, member := range LocalMembers() {
		delete(given, member)
	}
	return given
}

// scopeOf is the scope of a call as far as it can be read: the handler says what is wrong
// with it.
func scopeOf(params json.RawMessage) Scope {
	var s Scope
	if json.Unmarshal(params, &s) != nil || s.unquote() != nil {
		return Scope{}
	}
	return s
}

// finish sets the status and the latency, cuts the answer to its budget and returns the
// envelope.
func (c *call) finish(ctx context.Context, name string, err error) *Envelope {
	c.env.LatencyMs = c.now().Sub(c.started).Milliseconds()
	if err == nil {
		err = c.fit()
	}
	if err == nil && c.memory != nil {
		c.keep(ctx, name == ToolRead)
		c.collapse()
		c.env.ApproxTokens = inTokens(len(Render(c.env, string(c.shape.Format))))
	}
	if err != nil {
		known := AsError(err)
		c.advise(ctx, known)
		c.env.Error = known
		c.env.Status = StatusError
		for _, step := range known.NextSteps {
			c.step(step)
		}
		c.fitError()
		c.env.ApproxTokens = inTokens(len(Render(c.env, string(c.shape.Format))))
	}
	return c.env
}

// maxMessage bounds the text of an error, which may quote what it speaks of.
const maxMessage = 1000

// fitError keeps an error within the budget: its details go first, then all next steps but
// one, then the end of its text. The code always stays.
func (c *call) fitError() {
	e := c.env.Error
	shorten := func(most int) {
		if len(e.Message) > most {
			e.Message = strings.ToValidUTF8(e.Message[:most], "") + "…"
		}
	}
	shorten(maxMessage)
	if c.shape.MaxTokens <= 0 {
		return
	}
	over := func() bool { return inTokens(len(Render(c.env, string(c.shape.Format)))) > c.shape.MaxTokens }
	for _, name := range sortedKeys(e.Details) {
		if over() && name != "field" && name != "trace_id" {
			delete(e.Details, name)
		}
	}
	for len(c.env.NextSteps) > 1 && over() {
		c.env.NextSteps = c.env.NextSteps[:len(c.env.NextSteps)-1]
	}
	if steps := c.env.NextSteps; len(steps) == 1 && len(compact(steps[0].Arguments)) > maxMessage && over() {
		c.env.NextSteps = steps[:0] // it repeats what was too long
	}
	for len(c.env.Warnings) > 0 && over() {
		c.env.Warnings = c.env.Warnings[:len(c.env.Warnings)-1]
	}
	if over() {
		shorten(clipped)
	}
}

// Succeeded is an envelope for an answer that needs no backend.
func Succeeded(r Report) *Envelope {
	e := newEnvelope()
	e.Report = r
	return e
}
