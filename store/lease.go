package store

import (
	"context"
	"time"
)

// Lease is the right of one holder to act under a name, until a time of the store's clock.
// The token grows each time the name changes hands, so that a store can tell the writes of
// a holder that was taken over from those of the one after it: see WithFence.
type Lease struct {
	Name, Holder string
	Token        uint64
	Until        time.Time
}

// SyncLease is the name of the lease under which one synchronizer follows a codebase.
func SyncLease(id CodebaseID) string { return "sync/" + string(id) }

// ApplyLease is the name of the lease under which one process of a tenant seals the
// snapshots of a recipe.
func ApplyLease(fp Fingerprint) string { return "apply/" + string(fp) }

// KeepLease is the name of the lease under which one process of a tenant keeps the log, and
// collects what nothing reaches.
const KeepLease = "keep"

// PurgeLease is the name of the lease under which one process of a tenant purges the log.
const PurgeLease = "purge"

type fenceKey struct{}

// WithFence returns a context whose writes count only for the holder of a lease: every
// method of Writer but Acquire and Release returns ErrFenced under it, and changes nothing,
// once the name of the lease has another token. That the lease's time has passed is no
// obstacle while nobody else took it.
func WithFence(ctx context.Context, l Lease) context.Context {
	return context.WithValue(ctx, fenceKey{}, l)
}

// FenceOf returns the lease under which a context's writes count, if there is one. Stores
// compare its token in the transaction of the write.
func FenceOf(ctx context.Context) (Lease, bool) {
	l, ok := ctx.Value(fenceKey{}).(Lease)
	return l, ok
}
