package pairs

import (
	"bufio"
	"encoding/gob"
	"fmt"
	"os"
)

// Save writes a set to a file.
func (s *Set) Save(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("save pairs: %w", err)
	}
	w := bufio.NewWriterSize(f, 1<<20)
	if err := gob.NewEncoder(w).Encode(s); err != nil {
		_ = f.Close() // the error that counts is the encoder's
		return fmt.Errorf("save pairs to %s: %w", path, err)
	}
	if err := w.Flush(); err != nil {
		_ = f.Close() // the error that counts is the writer's
		return fmt.Errorf("save pairs to %s: %w", path, err)
	}
	return f.Close()
}

// Load reads a set that Save wrote. It can be read, not filled further.
func Load(path string) (*Set, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("load pairs: %w", err)
	}
	defer func() { _ = f.Close() }() // it was only read
	s := new(Set)
	if err := gob.NewDecoder(bufio.NewReaderSize(f, 1<<20)).Decode(s); err != nil {
		return nil, fmt.Errorf("load pairs from %s: %w", path, err)
	}
	return s, nil
}
