package pgstore

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/freshet/freshet/store"
)

// errNotCached is returned for a segment whose file is missing or damaged.
var errNotCached = errors.New("segment is not cached")

const (
	cacheSuffix = ".seg"
	unfinished  = "unfinished-*"
)

// segmentCache keeps segments as files named by their SHA-256, so that stores may share a
// directory and a file can never be that of another segment. A file is compared with its
// name when the process first maps it.
type segmentCache struct {
	dir       string
	temporary bool
	limit     int64

	mu       sync.Mutex // guards what follows
	mapped   map[string]*mapping
	verified map[string]bool
}

// mapping is a mapped file. It is unmapped when its last reader closes it.
type mapping struct {
	name  string
	data  []byte
	users int
}

func (m *segmentCache) open(dir string, limit int64) (err error) {
	m.limit, m.mapped, m.verified = limit, map[string]*mapping{}, map[string]bool{}
	if m.dir = dir; dir == "" {
		m.dir, err = os.MkdirTemp("", "freshet-segments-*")
		m.temporary = err == nil
	} else {
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return fmt.Errorf("make the cache of segments: %w", err)
	}
	return nil
}

// close removes a temporary cache. Mappings that readers hold stay valid.
func (m *segmentCache) close() error {
	if !m.temporary {
		return nil
	}
	if err := os.RemoveAll(m.dir); err != nil {
		return fmt.Errorf("remove the cache of segments: %w", err)
	}
	return nil
}

func (m *segmentCache) path(name string) string { return filepath.Join(m.dir, name+cacheSuffix) }

// keep writes a segment to the cache. It returns store.ErrCorrupt when what fill writes
// does not have the checksum of the segment.
func (m *segmentCache) keep(g storedSegment, fill func(w io.Writer) error) (err error) {
	f, err := os.CreateTemp(m.dir, unfinished)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	sum := sha256.New()
	buffered := bufio.NewWriterSize(f, 1<<20)
	err = fill(io.MultiWriter(buffered, sum))
	if err = cmp.Or(err, buffered.Flush(), f.Close()); err != nil {
		return err
	}
	if !bytes.Equal(sum.Sum(nil), g.sum[:]) {
		return fmt.Errorf("%w: %w", store.ErrCorrupt, store.ErrChecksum)
	}
	name := hex.EncodeToString(g.sum[:])
	if err := os.Rename(f.Name(), m.path(name)); err != nil {
		return err
	}
	return m.trim(name)
}

// take maps a file, or returns errNotCached.
func (m *segmentCache) take(g storedSegment) (*openSegment, error) {
	name := hex.EncodeToString(g.sum[:])
	m.mu.Lock()
	defer m.mu.Unlock()
	held, ok := m.mapped[name]
	if !ok {
		data, err := mapFile(m.path(name), g.ref.Bytes)
		if err != nil {
			return nil, err
		}
		held = &mapping{name: name, data: data}
		if !m.verified[name] {
			if sha256.Sum256(data) != g.sum {
				return nil, errors.Join(errNotCached, held.unmap(), os.Remove(m.path(name)))
			}
			m.verified[name] = true
		}
		m.mapped[name] = held
		now := time.Now()
		_ = os.Chtimes(m.path(name), now, now) // what was used last is dropped last
	}
	held.users++
	return &openSegment{cache: m, mapping: held}, nil
}

// mapFile maps a file of the size given.
func mapFile(path string, size int64) ([]byte, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errNotCached
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // the mapping outlives it
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() != size {
		return nil, errNotCached
	}
	if size == 0 {
		return nil, nil
	}
	data, err := unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map: %w", err)
	}
	return data, nil
}

// trim removes the files that were used longest ago until the rest is within the limit.
// One that is mapped stays readable.
func (m *segmentCache) trim(keep string) error {
	entries, err := os.ReadDir(m.dir)
	if err != nil {
		return err
	}
	var files []fs.FileInfo
	var total int64
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !strings.HasSuffix(e.Name(), cacheSuffix) {
			continue // removed by another process
		}
		files = append(files, info)
		total += info.Size()
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, f := range files {
		if total <= m.limit {
			break
		}
		if f.Name() == keep+cacheSuffix {
			continue
		}
		if err := os.Remove(filepath.Join(m.dir, f.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		total -= f.Size()
	}
	return nil
}

func (p *mapping) unmap() error {
	if p.data == nil {
		return nil
	}
	return unix.Munmap(p.data)
}

// openSegment is one reader's hold on a mapping.
type openSegment struct {
	cache   *segmentCache
	mapping *mapping
	once    sync.Once
}

// Bytes returns the mapped file.
func (o *openSegment) Bytes() []byte { return o.mapping.data }

// Close gives the hold back.
func (o *openSegment) Close() (err error) {
	o.once.Do(func() {
		o.cache.mu.Lock()
		defer o.cache.mu.Unlock()
		if o.mapping.users--; o.mapping.users == 0 {
			delete(o.cache.mapped, o.mapping.name)
			err = o.mapping.unmap()
		}
	})
	return err
}
