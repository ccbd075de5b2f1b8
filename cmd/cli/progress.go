package cli

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/freshet/freshet/mcp/tool"
)

// The least time between two reports of progress.
const (
	redrawEvery = 100 * time.Millisecond
	lineEvery   = time.Second
)

// progress shows how far an operation is: on a line of its own that it redraws, or, when
// stderr is no terminal, a line every second.
type progress struct {
	w        io.Writer
	terminal bool
	now      func() time.Time

	last    time.Time
	working time.Time // when the scan had ended
	drawn   bool
	shown   tool.Phase
}

func newProgress(w io.Writer, terminal bool, now func() time.Time) *progress {
	return &progress{w: w, terminal: terminal, now: now, last: now()}
}

// show reports an operation, unless the last report was a moment ago.
func (p *progress) show(o tool.Operation) error {
	now := p.now()
	if p.working.IsZero() && o.Counts.FilesTotal > 0 {
		p.working = now
	}
	pause := lineEvery
	if p.terminal {
		pause = redrawEvery
	}
	ended := o.Phase.Ended() && o.Phase != p.shown && p.drawn
	if now.Sub(p.last) < pause && !ended {
		return nil
	}
	p.last, p.drawn, p.shown = now, true, o.Phase
	line := p.line(o, now)
	if p.terminal {
		_, err := io.WriteString(p.w, "\r"+line+"\x1b[K")
		return err
	}
	_, err := io.WriteString(p.w, line+"\n")
	return err
}

// end leaves the line that was redrawn.
func (p *progress) end() error {
	if !p.terminal || !p.drawn {
		return nil
	}
	p.drawn = false
	_, err := io.WriteString(p.w, "\n")
	return err
}

func (p *progress) line(o tool.Operation, now time.Time) string {
	c := o.Counts
	if c.FilesTotal == 0 && !o.Phase.Ended() {
		return fmt.Sprintf("%s: %s, %d files seen", o.Kind, o.Phase, c.FilesSeen)
	}
	fraction := o.Fraction()
	var b strings.Builder
	fmt.Fprintf(&b, "%s: ", o.Kind)
	if p.terminal {
		const width = 20
		full := int(fraction * width)
		fmt.Fprintf(&b, "[%s%s] ", strings.Repeat("#", full), strings.Repeat(".", width-full))
	}
	fmt.Fprintf(&b, "%3d %%  %d files: %d chunked, %d embedded, %d sealed", int(100*fraction),
		c.FilesTotal, c.FilesChunked, c.FilesEmbedded, c.FilesSealed)
	if c.FilesParked > 0 {
		fmt.Fprintf(&b, ", %d parked", c.FilesParked)
	}
	took := now.Sub(p.working)
	if o.Phase.Ended() {
		return b.String() + ", " + string(o.Phase)
	}
	if o.Waiting != "" {
		return b.String() + "  " + o.Waiting
	}
	if took >= time.Second && c.FilesChunked > 0 {
		fmt.Fprintf(&b, "  %d files/s", int(float64(c.FilesChunked)/took.Seconds()))
	}
	if took >= time.Second && fraction > 0.02 {
		left := time.Duration(float64(took) * (1 - fraction) / fraction)
		fmt.Fprintf(&b, ", about %s left", left.Round(time.Second))
	}
	return b.String()
}
