package standby

import (
	"container/list"
	"sync"
)

// memory keeps the values that were used last. The zero value with most set is usable.
type memory[K comparable, V any] struct {
	most int         // the sum of all costs
	cost func(V) int // nil means 1 each

	mu   sync.Mutex // guards what follows
	held map[K]*list.Element
	used list.List // of *entry[K, V], the last used first
	sum  int
}

type entry[K comparable, V any] struct {
	key   K
	value V
}

func (m *memory[K, V]) get(key K) (value V, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.held[key]
	if !ok {
		return value, false
	}
	m.used.MoveToFront(e)
	return e.Value.(*entry[K, V]).value, true
}

// put keeps a value and forgets those that were used longest ago. One that is too large is
// not kept.
func (m *memory[K, V]) put(key K, value V) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.remove(key)
	cost := m.costOf(value)
	if cost > m.most {
		return
	}
	if m.held == nil {
		m.held = map[K]*list.Element{}
	}
	m.held[key] = m.used.PushFront(&entry[K, V]{key, value})
	m.sum += cost
	for m.sum > m.most {
		m.remove(m.used.Back().Value.(*entry[K, V]).key)
	}
}

func (m *memory[K, V]) drop(key K) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.remove(key)
}

func (m *memory[K, V]) clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.held, m.sum = nil, 0
	m.used.Init()
}

// remove forgets a key, if it is there; mu is held.
func (m *memory[K, V]) remove(key K) {
	e, ok := m.held[key]
	if !ok {
		return
	}
	m.sum -= m.costOf(m.used.Remove(e).(*entry[K, V]).value)
	delete(m.held, key)
}

func (m *memory[K, V]) costOf(value V) int {
	if m.cost == nil {
		return 1
	}
	return m.cost(value)
}
