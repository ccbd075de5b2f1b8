package outagecache

import (
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// cache is an LRU cache that is bounded by the sum of its values' costs. It may be used from
// several goroutines.
type cache[K comparable, V any] struct {
	limit int         // of the sum
	cost  func(V) int // at least 1

	mu  sync.Mutex // guards what follows
	lru *simplelru.LRU[K, V]
	sum int
}

// newCache returns an empty cache. A nil cost is 1 for each value.
func newCache[K comparable, V any](limit int, cost func(V) int) *cache[K, V] {
	if cost == nil {
		cost = func(V) int { return 1 }
	}
	c := &cache[K, V]{limit: limit, cost: cost}
	c.lru, _ = simplelru.NewLRU(limit, func(_ K, value V) { c.sum -= cost(value) }) // fails for a limit below 1 only
	return c
}

func (c *cache[K, V]) get(key K) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lru.Get(key)
}

// put caches a value and evicts the least recently used ones beyond the limit. A value whose
// own cost exceeds the limit is not cached.
func (c *cache[K, V]) put(key K, value V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lru.Remove(key)
	cost := c.cost(value)
	if cost > c.limit {
		return
	}
	for c.sum+cost > c.limit {
		c.lru.RemoveOldest()
	}
	c.lru.Add(key, value)
	c.sum += cost
}

func (c *cache[K, V]) drop(key K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lru.Remove(key)
}

func (c *cache[K, V]) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lru.Purge()
}
