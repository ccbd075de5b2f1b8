package search

import (
	"crypto/sha256"
	"sync"
	"time"
)

// orderKey names what was reranked.
type orderKey [sha256.Size]byte

// order is what came of a reranking: scores, or why there are none. It is never changed.
type order struct {
	scores []float64
	why    string
}

// How long and how many orders are kept: as long as somebody may turn pages.
const (
	orderTime = 10 * time.Minute
	maxOrders = 256
)

// orders keeps the last orders, so that the pages of a query agree and cost one reranking.
type orders struct {
	mu   sync.Mutex
	held map[orderKey]heldOrder // guarded by mu
}

type heldOrder struct {
	order
	since time.Time
}

// find returns the order of a key that is not too old.
func (o *orders) find(key orderKey, now time.Time) (order, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	held, ok := o.held[key]
	if !ok || now.Sub(held.since) > orderTime {
		return order{}, false
	}
	return held.order, true
}

// keep notes an order and returns the one to use: that of whoever was first with scores.
func (o *orders) keep(key orderKey, found order, now time.Time) order {
	o.mu.Lock()
	defer o.mu.Unlock()
	if held, ok := o.held[key]; ok && held.scores != nil && now.Sub(held.since) <= orderTime {
		return held.order
	}
	if o.held == nil {
		o.held = map[orderKey]heldOrder{}
	}
	o.held[key] = heldOrder{found, now}
	if len(o.held) > maxOrders {
		o.dropOldest()
	}
	return found
}

// dropOldest makes room; mu is held.
func (o *orders) dropOldest() {
	var oldest orderKey
	var since time.Time
	for key, held := range o.held {
		if since.IsZero() || held.since.Before(since) {
			oldest, since = key, held.since
		}
	}
	delete(o.held, oldest)
}
