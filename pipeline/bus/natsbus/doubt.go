package natsbus

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"time"
)

// doubt is what speaks for damage of the files of an embedded server since they were last
// inspected: the server keeps in memory what it read at its start, and notices damage only
// where it reads again.
type doubt struct {
	raised bool
	blocks map[string]int64 // sizes of the block files at the last look
	last   time.Time        // when the log was inspected last because of a doubt
}

// doubtPause is the least time between two inspections for a doubt that stays.
const doubtPause = time.Second

// raiseDoubt notes that something failed that damage of the files explains.
func (b *Bus) raiseDoubt() {
	if b.remote() {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.doubt.raised = true
}

// Doubted tells whether something speaks for damage of the embedded server's files: a call
// or the server itself failed on them, or a file of messages has gone or has shrunk. The
// next State then reads every message.
func (b *Bus) Doubted() bool {
	if b.remote() {
		return true // only the server knows
	}
	blocks := b.blockSizes()
	b.mu.Lock()
	defer b.mu.Unlock()
	for name, size := range b.doubt.blocks {
		if now, ok := blocks[name]; !ok || now < size {
			b.doubt.raised = true
		}
	}
	b.doubt.blocks = blocks
	return b.doubt.raised
}

// blockSizes are the sizes of the files that hold the log's messages.
func (b *Bus) blockSizes() map[string]int64 {
	names, err := filepath.Glob(filepath.Join(escape(streamsDir(b.opts.Dir)), b.wantedLog().Name, "msgs", "*.blk"))
	if err != nil {
		return nil
	}
	sizes := make(map[string]int64, len(names))
	for _, name := range names {
		if info, err := os.Stat(name); err == nil {
			sizes[name] = info.Size()
		}
	}
	return sizes
}

// settleDoubt reads every message when there is a doubt. What cannot be read, or a read that
// does not end, shows as a gap. The caller holds reshaping.
func (b *Bus) settleDoubt(ctx context.Context) {
	b.mu.Lock()
	due := b.doubt.raised && time.Since(b.doubt.last) >= doubtPause
	if due {
		b.doubt.raised, b.doubt.last = false, time.Now()
	}
	log := b.log
	b.mu.Unlock()
	if !due {
		return
	}
	reading, cancel := context.WithTimeout(ctx, inspectWait)
	defer cancel()
	lost := b.lostBlocks(ctx)
	err := b.inspect(reading)
	if ctx.Err() != nil || err == nil && !lost {
		return
	}
	b.opts.Log.Warn("event log cannot be read back", "files gone", lost, "error", err)
	b.mu.Lock()
	b.torn = log.id
	b.mu.Unlock()
}

// inspectWait bounds a read of the whole log.
const inspectWait = time.Minute

// lostBlocks tells whether the files hold less than the server says, which may have their
// messages in memory still.
func (b *Bus) lostBlocks(ctx context.Context) bool {
	info, err := b.current().stream.Info(ctx)
	if err != nil {
		return false
	}
	sum := uint64(0)
	for size := range maps.Values(b.blockSizes()) {
		sum += uint64(size) //nolint:gosec // sizes of files
	}
	return sum < info.State.Bytes
}
