package natsbus

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

// consumerChecksumsName is the file with the checksums of the consumers' states. The server
// keeps the states without checksums, and a flipped bit in one lets a consumer skip messages.
// The file is written when the log is closed, and read and removed when it is opened. After a
// crash there is none; messages that a state damaged by the crash would skip are found by the
// reconciler, which compares the store with the tree.
const consumerChecksumsName = "consumers.json"

// stateFiles lists the files of the consumers' states, relative to dir.
func stateFiles(dir string) ([]string, error) {
	names, err := filepath.Glob(filepath.Join(escape(streamsDir(dir)), "*", "obs", "*", "o.dat"))
	if err != nil {
		return nil, fmt.Errorf("list consumers: %w", err)
	}
	for i, name := range names {
		if names[i], err = filepath.Rel(dir, name); err != nil {
			return nil, fmt.Errorf("list consumers: %w", err)
		}
	}
	return names, nil
}

// writeConsumerChecksums writes the file of checksums. The server must have stopped.
func writeConsumerChecksums(dir string) error {
	names, err := stateFiles(dir)
	if err != nil {
		return err
	}
	sums := make(map[string]string, len(names))
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return fmt.Errorf("checksum consumer: %w", err)
		}
		sum := sha256.Sum256(data)
		sums[name] = hex.EncodeToString(sum[:])
	}
	data, err := json.Marshal(sums)
	if err != nil {
		return fmt.Errorf("sum consumers: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, consumerChecksumsName), data, 0o600); err != nil {
		return fmt.Errorf("sum consumers: %w", err)
	}
	return nil
}

// dropDamagedConsumers removes the consumers whose state does not match its checksum, and
// all consumers when the file of checksums is damaged. Consume creates them again, from the
// oldest message on. It returns how many it removed. The server must not run.
func dropDamagedConsumers(dir string) (int, error) {
	file := filepath.Join(dir, consumerChecksumsName)
	written, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read checksums of consumers: %w", err)
	}
	var sums map[string]string
	if json.Unmarshal(written, &sums) != nil {
		sums = nil // every state counts as damaged
	}
	names, err := stateFiles(dir)
	if err != nil {
		return 0, err
	}
	dropped := 0
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return dropped, fmt.Errorf("read consumer: %w", err)
		}
		if sum := sha256.Sum256(data); sums[name] == hex.EncodeToString(sum[:]) {
			continue
		}
		if err := os.RemoveAll(filepath.Dir(filepath.Join(dir, name))); err != nil {
			return dropped, fmt.Errorf("remove consumer: %w", err)
		}
		dropped++
	}
	if err := os.Remove(file); err != nil {
		return dropped, fmt.Errorf("remove checksums of consumers: %w", err)
	}
	return dropped, nil
}
