package scan

import (
	"slices"

	"github.com/cespare/xxhash/v2"
	"golang.org/x/sys/unix"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/ignore"
)

// maxRuleBytes bounds an ignore file; what lies behind it is not read.
const maxRuleBytes = 16 << 20

func isRuleFile(name string) bool { return slices.Contains(ruleFiles[:], name) }

// readRules returns the rules for the entries of a directory, and whether they may differ
// from those by which the entries were decided before. An ignore file is read when its
// stat changed, when it is racy, and once after loading an index.
func (k *worker) readRules(v *visit, fd int, has func(string) bool) (ruleState, bool, error) {
	var old ruleState
	if v.prior != nil {
		old = v.prior.rules
	}
	if old.known && old.parent == v.rules && !v.changed && k.rulesUntouched(v, fd, old, has) {
		return old, false, nil
	}
	state := ruleState{known: true, parent: v.rules}
	var files []ignore.File
	for i, name := range ruleFiles {
		if !has(name) {
			continue
		}
		path := join(v.path, name)
		data, err := k.readRuleFile(fd, name, path)
		switch {
		case err == nil:
			state.digests[i] = xxhash.Sum64(data)
			files = append(files, ignore.File{Path: path, Data: data})
		case gone(err): // a link too: git does not follow those either
		case exhausted(err):
			return state, false, err
		default:
			v.delta.Kept = append(v.delta.Kept, Kept{path, store.LeftOutUnreadable, err})
			if old.known && old.parent == v.rules {
				return old, v.changed, nil
			}
		}
	}
	if old.known && old.parent == v.rules && old.digests == state.digests {
		state.rules = old.rules
	} else {
		state.rules = v.rules.Child(v.path, files...)
	}
	return state, v.changed || v.prior == nil || old.digests != state.digests, nil
}

// rulesUntouched reports whether the ignore files of a directory are those of old, by
// their stat.
func (k *worker) rulesUntouched(v *visit, fd int, old ruleState, has func(string) bool) bool {
	for i, name := range ruleFiles {
		if !has(name) && old.digests[i] == 0 {
			continue
		}
		e := v.prior.file(name)
		if e == nil || e.Racy || !has(name) || old.digests[i] == 0 {
			return false
		}
		stat, err := statAt(fd, name)
		if err != nil || k.clock.see(stat) != e.Stat {
			return false
		}
	}
	return true
}

func (k *worker) readRuleFile(fd int, name, path string) ([]byte, error) {
	if err := k.interfere("rules", path); err != nil {
		return nil, err
	}
	return readBounded(fd, name, maxRuleBytes)
}

// readBounded reads the first bytes of a regular file. Anything else is not there.
func readBounded(dir int, name string, limit int64) ([]byte, error) {
	stat, err := statAt(dir, name)
	if err != nil {
		return nil, err
	}
	if kind(stat.Mode) != unix.S_IFREG {
		return nil, unix.ENOENT
	}
	fd, err := openAt(dir, name, fileFlags)
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(fd) }()
	if stat, err = fstat(fd); err != nil {
		return nil, err
	}
	if kind(stat.Mode) != unix.S_IFREG {
		return nil, unix.ENOENT
	}
	data := make([]byte, min(max(stat.Size, 0), limit)+1)
	n, err := readFull(fd, data)
	return data[:min(int64(n), limit)], err
}

// readFull reads until the end of the file or of data.
func readFull(fd int, data []byte) (int, error) {
	total := 0
	for total < len(data) {
		var n int
		err := retry(func() (err error) {
			n, err = unix.Read(fd, data[total:])
			return err
		})
		if err != nil || n <= 0 {
			return total, err
		}
		total += n
	}
	return total, nil
}
