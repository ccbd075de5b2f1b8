package pgstore

import (
	"context"
	"fmt"
	"sync"
)

// interned remembers the ids of names, which never change. The zero value works.
type interned struct {
	mu  sync.RWMutex // guards ids
	ids map[string]int64
}

func (n *interned) get(name string) (int64, bool) {
	n.mu.RLock()
	defer n.mu.RUnlock()
	id, ok := n.ids[name]
	return id, ok
}

func (n *interned) put(name string, id int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ids == nil {
		n.ids = map[string]int64{}
	}
	n.ids[name] = id
}

// name returns the id of an interned name; 0 is that of a name never put. In a transaction
// that writes nothing an id that is found is committed.
func (s *Store) name(ctx context.Context, c *tx, name string) (int64, error) {
	if id, ok := s.names.get(name); ok {
		return id, nil
	}
	var id int64
	found, err := c.one(ctx, "SELECT id FROM names WHERE tenant = $1 AND name = $2", []any{name}, &id)
	if err != nil {
		return 0, fmt.Errorf("look up name %q: %w", name, err)
	}
	if found {
		s.names.put(name, id)
	}
	return id, nil
}

// putName interns a name in a transaction of its own.
func (s *Store) putName(ctx context.Context, name string) (int64, error) {
	if id, ok := s.names.get(name); ok {
		return id, nil
	}
	err := s.write(ctx, func(c *tx) error {
		_, err := c.exec(ctx, "INSERT INTO names (tenant, name) VALUES ($1, $2) ON CONFLICT DO NOTHING", name)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("put name %q: %w", name, err)
	}
	var id int64
	err = s.view(ctx, func(c *tx) error {
		id, err = s.name(ctx, c, name)
		return err
	})
	return id, err
}
