package provider

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Memory is a file that keeps what embedding services said of their models. "" keeps
// nothing.
type Memory string

// memoryName is the file in a data directory.
const memoryName = "embedder.json"

// MemoryIn is the memory of a data directory.
func MemoryIn(home string) Memory { return Memory(filepath.Join(home, memoryName)) }

// known is what a service said of a model.
type known struct {
	// Choice is the digest of the settings that it is true for; the key is none of them.
	Choice    string `json:"choice"`
	Artifact  string `json:"artifact,omitempty"`
	Dimension int    `json:"dimension"`
}

func (e Embedder) choice() string {
	e.Key, e.Concurrency = "", 0
	sum := sha256.Sum256(fmt.Appendf(nil, "%#v", e))
	return hex.EncodeToString(sum[:])
}

func (m Memory) recall(e Embedder) (known, bool) {
	var k known
	if m == "" {
		return k, false
	}
	data, err := os.ReadFile(string(m))
	if err != nil || json.Unmarshal(data, &k) != nil {
		return k, false
	}
	return k, k.Choice == e.choice() && k.Dimension > 0
}

func (m Memory) keep(e Embedder, k known) error {
	if m == "" {
		return nil
	}
	k.Choice = e.choice()
	if old, ok := m.recall(e); ok && old == k {
		return nil
	}
	data, err := json.Marshal(k)
	if err != nil {
		return fmt.Errorf("encode %s: %w", memoryName, err)
	}
	temporary := string(m) + ".new"
	err = os.WriteFile(temporary, append(data, '\n'), 0o600)
	if err == nil {
		err = os.Rename(temporary, string(m))
	}
	if err != nil {
		if rerr := os.Remove(temporary); rerr != nil && !errors.Is(rerr, fs.ErrNotExist) {
			err = errors.Join(err, rerr)
		}
		return fmt.Errorf("keep what the embedding provider said: %w", err)
	}
	return nil
}
