package natsbus

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"sync"

	"github.com/freshet/freshet/store"
)

// A purge removes messages from the server's index but leaves their bytes in its files until
// it rewrites them. So that purged messages cannot be recovered (crypto-shredding), the
// bodies of each codebase in an embedded log are encrypted with AES-GCM under its own key,
// and a purge of the whole codebase deletes the key. The keys lie beside the log: they do not
// protect a codebase that is still indexed from a reader of the data directory.
const (
	keysName = "keys.json"
	keySize  = 16
)

// errForgotten says that the key of a body is gone with its codebase.
var errForgotten = errors.New("the codebase was cleared")

// keyring keeps the keys of the codebases in a file. It may be used from several
// goroutines. The keyring of a remote log has no file and no keys.
type keyring struct {
	path string

	mu   sync.Mutex // guards keys, and the file
	keys map[store.CodebaseID][]byte
}

// openKeyring reads the keys beside an embedded log. When the file is damaged its keys are
// lost and the messages unreadable: the log is then recreated.
func openKeyring(dir string) (*keyring, error) {
	k := &keyring{keys: map[store.CodebaseID][]byte{}}
	if dir == "" {
		return k, nil
	}
	k.path = filepath.Join(dir, keysName)
	data, err := os.ReadFile(k.path)
	if errors.Is(err, fs.ErrNotExist) {
		return k, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read keys: %w", err)
	}
	if json.Unmarshal(data, &k.keys) != nil || k.keys == nil {
		k.keys = map[store.CodebaseID][]byte{}
	}
	maps.DeleteFunc(k.keys, func(_ store.CodebaseID, key []byte) bool { return len(key) != keySize })
	return k, nil
}

// encrypt returns the body encrypted under the codebase's key, which is made on first use.
// ok is false for a log that has no keys; body is then returned as it is.
func (k *keyring) encrypt(id store.CodebaseID, body []byte) (ciphertext []byte, ok bool, err error) {
	if k.path == "" {
		return body, false, nil
	}
	aead, err := k.cipher(id, true)
	if err != nil {
		return nil, false, err
	}
	nonce := make([]byte, aead.NonceSize(), aead.NonceSize()+len(body)+aead.Overhead())
	_, _ = rand.Read(nonce) // never fails
	return aead.Seal(nonce, nonce, body, []byte(id)), true, nil
}

// decrypt undoes encrypt. It returns errForgotten when the key was deleted.
func (k *keyring) decrypt(id store.CodebaseID, ciphertext []byte) ([]byte, error) {
	aead, err := k.cipher(id, false)
	if err != nil {
		return nil, err
	}
	if len(ciphertext) < aead.NonceSize() {
		return nil, fmt.Errorf("decrypt message: %d bytes", len(ciphertext))
	}
	body, err := aead.Open(nil, ciphertext[:aead.NonceSize()], ciphertext[aead.NonceSize():], []byte(id))
	if err != nil {
		return nil, fmt.Errorf("decrypt message: %w", err)
	}
	return body, nil
}

func (k *keyring) cipher(id store.CodebaseID, create bool) (cipher.AEAD, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	key, ok := k.keys[id]
	if !ok && !create {
		return nil, errForgotten
	}
	if !ok {
		key = make([]byte, keySize)
		_, _ = rand.Read(key) // never fails
		if err := k.replace(func(keys map[store.CodebaseID][]byte) { keys[id] = key }); err != nil {
			return nil, err
		}
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("key of %s: %w", id, err)
	}
	return cipher.NewGCM(block)
}

// forget deletes the key of a codebase, which makes its messages unreadable for ever.
func (k *keyring) forget(id store.CodebaseID) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, ok := k.keys[id]; !ok {
		return nil
	}
	return k.replace(func(keys map[store.CodebaseID][]byte) { delete(keys, id) })
}

// replace changes the keys. They are durable when it returns, before anything is encrypted
// under them. The caller holds mu.
func (k *keyring) replace(change func(map[store.CodebaseID][]byte)) error {
	next := maps.Clone(k.keys)
	change(next)
	data, err := json.Marshal(next)
	if err != nil {
		return err
	}
	if err := writeDurably(k.path, data); err != nil {
		return fmt.Errorf("write keys: %w", err)
	}
	k.keys = next
	return nil
}

// writeDurably replaces a file atomically and syncs it and its directory.
func writeDurably(path string, data []byte) error {
	f, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(path+".new", path); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// forgetWhole deletes the key when a purge removes a whole codebase.
func (k *keyring) forgetWhole(i purgeIntent) error {
	if i.below != 0 {
		return nil
	}
	return k.forget(i.codebase)
}
