package tool

import (
	"context"
	"path/filepath"
	"slices"
)

// export prints the canonical lines of the index as notices; its digest is in the answer.
func (c *call) export(ctx context.Context, p ExportParams) error {
	b, err := c.resolve(ctx, p.Scope)
	if err != nil {
		return err
	}
	reading, err := c.check(ctx, b, CheckOptions{Mode: ModeVerified, MaxWait: DefaultMaxWait})
	if err != nil {
		return err
	}
	if reading.View == nil {
		return notReady(b, reading.Running)
	}
	var write func(string) error
	if !p.Quiet {
		write = func(text string) error { return c.observe(Notice{Text: text}) }
	}
	done, err := c.Canon.Export(ctx, b.ID, write)
	if err != nil {
		return err
	}
	c.env.Export = &done
	return nil
}

// verify compares the index with a clean rebuild of the tree.
func (c *call) verify(ctx context.Context, p VerifyParams) error {
	b, err := c.resolve(ctx, p.Scope)
	if err != nil {
		return err
	}
	reading, err := c.check(ctx, b, CheckOptions{Mode: ModeVerified, MaxWait: maxMaxWait})
	if err != nil {
		return err
	}
	if reading.View == nil && !p.Repair { // a repair waits until there is something to compare
		return notReady(b, reading.Running)
	}
	outcome, err := c.Canon.Verify(ctx, b.ID, p.Repair)
	if err != nil {
		return err
	}
	if outcome.Differences == nil {
		outcome.Differences = []Difference{}
	}
	c.env.Verification = &outcome
	if !outcome.Equal && !outcome.Repaired {
		c.partial()
		c.env.NextSteps = append(c.env.NextSteps,
			commandStep("freshet verify "+string(b.ID)+" --repair", "sets right what differs"))
	}
	return nil
}

// replay rebuilds from the log or a recorded file and reports digests.
func (c *call) replay(ctx context.Context, p ReplayParams) error {
	if p.File != "" && !filepath.IsAbs(p.File) {
		return Invalid("file", "must be absolute")
	}
	if p.To != 0 && p.From > p.To {
		return Invalid("from", "must not be greater than to")
	}
	digests, err := c.Canon.Replay(ctx, Replaying(p))
	if err != nil {
		return err
	}
	digests = append([]CodebaseDigest{}, digests...)
	c.env.Digests = &digests
	return nil
}

// record writes the log and the contents it names to a file.
func (c *call) record(ctx context.Context, p RecordParams) error {
	if !filepath.IsAbs(p.File) {
		return Invalid("file", "must be absolute")
	}
	recording, err := c.History.Record(ctx, p.File)
	if err != nil {
		return err
	}
	c.env.Recording = &recording
	return nil
}

// events lists the log, or passes each event on as a notice when it follows.
func (c *call) events(ctx context.Context, p EventsParams) error {
	list := []LogEvent{}
	err := c.History.Events(ctx, p.From, p.Follow, func(e LogEvent) error {
		if p.Follow {
			return c.observe(Notice{Text: EventLine(e)})
		}
		list = append(list, e)
		return nil
	})
	if err != nil {
		return err
	}
	c.env.Events = &list
	c.env.TotalCount, c.env.ReturnedCount = len(list), len(list)
	return nil
}

// collect removes what the retention does not keep.
func (c *call) collect(ctx context.Context, p CollectParams) error {
	collected, err := c.Keeper.Collect(ctx, p.DryRun)
	if err != nil {
		return err
	}
	c.env.Collected = &collected
	return nil
}

// deadLetters lists, retries or drops messages that no worker could take.
func (c *call) deadLetters(ctx context.Context, p DeadLetterParams) error {
	actions := []string{"list", "retry", "drop"}
	if p.Action == "" {
		p.Action = "list"
	}
	if !slices.Contains(actions, p.Action) {
		return Invalid("action", "unknown action "+p.Action, actions...)
	}
	if p.Action != "list" {
		settled, err := c.Keeper.Settle(ctx, p.Letters, p.Action == "retry")
		if err != nil {
			return err
		}
		c.env.Settled = &settled
		return nil
	}
	letters, err := c.Keeper.DeadLetters(ctx)
	if err != nil {
		return err
	}
	letters = append([]DeadLetter{}, letters...)
	c.env.DeadLetters = &letters
	c.env.TotalCount, c.env.ReturnedCount = len(letters), len(letters)
	return nil
}
