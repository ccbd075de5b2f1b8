package natsbus

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"time"
)

// suspicion records signs of damage in the files of an embedded server since they were last
// inspected. The server keeps in memory what it read at its start and notices damage only
// where it reads again.
type suspicion struct {
	raised bool
	blocks map[string]int64 // sizes of the block files at the last call of DamageSuspected
	last   time.Time        // when the log was last inspected because of a suspicion
}

// minInspectInterval is the least time between two inspections for a suspicion that persists.
const minInspectInterval = time.Second

// suspectDamage notes a failure that damaged files would explain.
func (b *Bus) suspectDamage() {
	if b.remote() {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.suspicion.raised = true
}

// DamageSuspected reports whether the files of the embedded server may be damaged: a call or
// the server itself failed on them, or a file of messages is missing or has shrunk. The next
// State then reads every message. Of a remote server it always returns true.
func (b *Bus) DamageSuspected() bool {
	if b.remote() {
		return true // only the server knows
	}
	blocks := b.blockSizes()
	b.mu.Lock()
	defer b.mu.Unlock()
	for name, size := range b.suspicion.blocks {
		if now, ok := blocks[name]; !ok || now < size {
			b.suspicion.raised = true
		}
	}
	b.suspicion.blocks = blocks
	return b.suspicion.raised
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

// inspectIfSuspected reads every message when there is a doubt. What cannot be read, or a read that
// does not end, shows as a gap. The caller holds reshaping.
func (b *Bus) inspectIfSuspected(ctx context.Context) {
	b.mu.Lock()
	due := b.suspicion.raised && time.Since(b.suspicion.last) >= minInspectInterval
	if due {
		b.suspicion.raised, b.suspicion.last = false, time.Now()
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
	b.unreadable = log.id
	b.mu.Unlock()
}

// inspectWait bounds a read of the whole log.
const inspectWait = time.Minute

// lostBlocks reports whether the files hold fewer bytes than the server reports; it may
// still have their messages in memory.
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
