package search

import (
	"crypto/sha256"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// orderKey identifies the query and hits that were reranked.
type orderKey [sha256.Size]byte

// order is the result of a reranking: scores, or the reason why there are none. It is
// immutable.
type order struct {
	scores []float64
	why    string
}

// The expiry and number of the orders that are kept for pagination.
const (
	orderTime = 10 * time.Minute
	maxOrders = 256
)

// orders is a cache of the last orders, so that the pages of a query agree and cost one
// reranking. The one that was kept first is evicted first.
type orders struct {
	mu   sync.Mutex
	held *simplelru.LRU[orderKey, heldOrder] // guarded by mu; nil until the first
}

type heldOrder struct {
	order
	since time.Time
}

// find returns the order of a key that has not expired.
func (o *orders) find(key orderKey, now time.Time) (order, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.peek(key, now)
}

// peek is find; mu is held.
func (o *orders) peek(key orderKey, now time.Time) (order, bool) {
	if o.held == nil {
		return order{}, false
	}
	held, ok := o.held.Peek(key)
	if !ok || now.Sub(held.since) > orderTime {
		return order{}, false
	}
	return held.order, true
}

// keep caches an order and returns the one to use: the first with scores.
func (o *orders) keep(key orderKey, found order, now time.Time) order {
	o.mu.Lock()
	defer o.mu.Unlock()
	if first, ok := o.peek(key, now); ok && first.scores != nil {
		return first
	}
	if o.held == nil {
		o.held, _ = simplelru.NewLRU[orderKey, heldOrder](maxOrders, nil) // fails for a size below 1 only
	}
	o.held.Add(key, heldOrder{found, now})
	return found
}
