package scan

import (
	"bytes"
	"crypto/sha256"
	"errors"

	"github.com/cespare/xxhash/v2"
	"golang.org/x/sys/unix"

	"github.com/freshet/freshet/store"
)

// readTries is how often a file that changes while it is read is read again.
const readTries = 3

var errUnstable = errors.New("file changes while it is read")

// examine returns what a file is now: old itself when nothing changed, nil when it is gone.
func (k *worker) examine(v *visit, dir int, path string, old *store.StatEntry) (*store.StatEntry, error) {
	if err := k.ctx.Err(); err != nil {
		return nil, err
	}
	name := baseOf(path)
	if err := k.interfere("stat", path); err != nil {
		return k.keep(v, path, old, store.Stat{}, store.LeftOutUnreadable, err)
	}
	stat, links, err := statLinks(dir, name)
	k.counts.Stated++
	if links > 1 && kind(stat.Mode) == unix.S_IFREG {
		k.counts.Linked++
		if k.follower != nil {
			k.follower.Linked(path)
		}
	}
	if err != nil {
		return k.keep(v, path, old, store.Stat{}, store.LeftOutUnreadable, err)
	}
	stat = k.clock.see(stat)
	ignored := isRuleFile(name) && v.next.rules.rules.Match(path, false).Ignored
	if old != nil && old.Stat == stat && !old.Racy && !v.doubts(name) && ignored == (old.LeftOut == store.LeftOutIgnored) {
		return old, nil
	}
	now := store.StatEntry{Path: path, Stat: stat}
	switch {
	case kind(stat.Mode) == unix.S_IFDIR: // it was a file when its directory was listed
		v.moved = true
		return nil, nil
	case ignored:
		return k.ignoredRules(v, now), nil
	case kind(stat.Mode) == unix.S_IFLNK:
		now.LeftOut, now.Stat = store.LeftOutSymlink, store.Stat{Mode: unix.S_IFLNK}
	case kind(stat.Mode) != unix.S_IFREG:
		now.LeftOut, now.Stat = store.LeftOutSpecial, store.Stat{Mode: kind(stat.Mode)}
	case stat.Size > k.scanner.opts.MaxFileBytes:
		now.LeftOut = store.LeftOutTooLarge
	default:
		return k.read(v, dir, path, old)
	}
	if old != nil && now == *old {
		return old, nil
	}
	return &now, nil
}

// ignoredRules is the entry of an ignore file that is itself ignored: its stat is kept
// all the same, because it decides about others.
func (k *worker) ignoredRules(v *visit, now store.StatEntry) *store.StatEntry {
	now.LeftOut, now.Racy = store.LeftOutIgnored, k.clock.racy(now.Stat)
	for i, name := range ruleFiles {
		if name == baseOf(now.Path) {
			now.XX = v.next.rules.digests[i]
		}
	}
	return &now
}

// read reads a file until it stands still.
func (k *worker) read(v *visit, dir int, path string, old *store.StatEntry) (*store.StatEntry, error) {
	var stat store.Stat
	for range readTries {
		fd, err := k.open(dir, path)
		if err != nil {
			return k.keep(v, path, old, stat, store.LeftOutUnreadable, err)
		}
		data, seen, settled, err := k.readSettled(fd, path)
		_ = unix.Close(fd)
		stat = k.clock.see(seen)
		switch {
		case errors.Is(err, errNotRegular):
			return &store.StatEntry{Path: path, Stat: store.Stat{Mode: kind(seen.Mode)}, LeftOut: store.LeftOutSpecial}, nil
		case errors.Is(err, errTooLarge):
			return &store.StatEntry{Path: path, Stat: stat, LeftOut: store.LeftOutTooLarge}, nil
		case err != nil:
			return k.keep(v, path, old, stat, store.LeftOutUnreadable, err)
		case settled:
			return k.digest(v, path, data, stat, old)
		}
	}
	return k.keep(v, path, old, stat, store.LeftOutUnstable, errUnstable)
}

// readSettled reads an open file, and reports whether it stood still: its stat is the same
// before and after, and where the stat proves nothing, because it is racy, a second
// reading gives the same bytes. One write may be half done under one stat.
func (k *worker) readSettled(fd int, path string) (data []byte, before store.Stat, settled bool, err error) {
	data, before, err = k.readOpen(fd, path)
	if err != nil {
		return nil, before, false, err
	}
	if int64(len(data)) != before.Size && !isBinary(data) {
		return nil, before, false, nil
	}
	if k.clock.racy(k.clock.see(before)) {
		if same, err := k.readsSame(fd, data); err != nil || !same {
			return nil, before, false, err
		}
	}
	after, err := fstat(fd)
	return data, before, err == nil && k.clock.see(before) == k.clock.see(after), err
}

// readsSame reads an open file again from its beginning and compares.
func (k *worker) readsSame(fd int, data []byte) (bool, error) {
	if len(k.again) < len(data) {
		k.again = make([]byte, max(len(data), 64<<10))
	}
	again := k.again[:len(data)]
	if _, err := unix.Seek(fd, 0, unix.SEEK_SET); err != nil {
		return false, err
	}
	n, err := readFull(fd, again)
	return bytes.Equal(again[:n], data), err
}

func (k *worker) open(dir int, path string) (int, error) {
	if err := k.interfere("open", path); err != nil {
		return -1, err
	}
	k.counts.Read++
	return openAt(dir, baseOf(path), fileFlags)
}

var (
	errNotRegular = errors.New("not a regular file")
	errTooLarge   = errors.New("file over the limit")
)

// readOpen reads an open file into the worker's buffer. Of a binary one it may return the
// first bytes only.
func (k *worker) readOpen(fd int, path string) ([]byte, store.Stat, error) {
	stat, err := fstat(fd)
	switch {
	case err != nil:
		return nil, stat, err
	case kind(stat.Mode) != unix.S_IFREG:
		return nil, stat, errNotRegular
	case stat.Size > k.scanner.opts.MaxFileBytes:
		return nil, stat, errTooLarge
	}
	if need := int(stat.Size) + 1; len(k.buf) < need {
		k.buf = make([]byte, max(need, 64<<10, min(2*len(k.buf), int(k.scanner.opts.MaxFileBytes)+1)))
	}
	buf := k.buf[:stat.Size+1] // one more, to see a file that grows
	n, err := readFull(fd, buf[:min(len(buf), sniffBytes)])
	if err == nil && n == sniffBytes && !isBinary(buf[:n]) {
		var more int
		more, err = readFull(fd, buf[n:])
		n += more
	}
	if err == nil {
		err = k.interfere("read", path)
	}
	return buf[:n], stat, err
}

// digest decides about bytes that were read whole.
func (k *worker) digest(v *visit, path string, data []byte, stat store.Stat, old *store.StatEntry) (*store.StatEntry, error) {
	now := store.StatEntry{Path: path, Stat: stat, Racy: k.clock.racy(stat)}
	if isBinary(data) {
		now.LeftOut = store.LeftOutBinary
		return &now, nil
	}
	now.XX = xxhash.Sum64(data)
	k.counts.HashedBytes += int64(len(data))
	if old != nil && old.XX == now.XX && old.Stat.Size == stat.Size &&
		(old.LeftOut == store.LeftOutMinified || (old.LeftOut == "" && !old.Content.IsZero())) {
		now.Content, now.LeftOut, now.Language, now.Flags = old.Content, old.LeftOut, old.Language, old.Flags
		return &now, nil
	}
	if isMinified(path, data) {
		now.LeftOut = store.LeftOutMinified
		return &now, nil
	}
	now.Content = sha256.Sum256(data)
	k.counts.DigestedBytes += int64(len(data))
	if k.sink != nil && (old == nil || old.Content != now.Content) {
		if err := k.sink.Content(path, now.Content, bytes.Clone(data)); err != nil {
			return nil, err
		}
	}
	now.Language, now.Flags = k.kinds.classify(path, data)
	k.alignRules(v, &now)
	return &now, nil
}

// alignRules lets the entry of an ignore file carry the digest of the bytes that decided,
// so that one changed between deciding and here is read again.
func (k *worker) alignRules(v *visit, now *store.StatEntry) {
	for i, name := range ruleFiles {
		if used := v.next.rules.digests[i]; name == baseOf(now.Path) && used != now.XX {
			now.XX, now.Racy = used, true
		}
	}
}

// keep answers for a file that could not be read: one in the tree stays as it was known
// and is read again next time, one that is gone is no more, any other is left out.
func (k *worker) keep(v *visit, path string, old *store.StatEntry, stat store.Stat, reason store.LeftOut, err error) (*store.StatEntry, error) {
	switch {
	case gone(err):
		v.moved = true
		k.counts.Vanished++
		return nil, nil
	case exhausted(err):
		return nil, err
	}
	v.delta.Kept = append(v.delta.Kept, Kept{path, reason, err})
	now := store.StatEntry{Path: path, Stat: stat, LeftOut: reason}
	if old != nil && inTree(old) {
		now = *old
	}
	now.Racy = true
	if old != nil && now == *old {
		return old, nil
	}
	return &now, nil
}
