package scan

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/secret"
	"github.com/freshet/freshet/sync/merkle"
)

// worker visits directories, one after the other.
type worker struct {
	*walk
	ctx    context.Context //nolint:containedctx // a worker lives for one call of Scan
	names  []byte
	buf    []byte
	again  []byte
	kinds  classifier
	counts Summary
}

// visit determines the current state of a directory. An error ends the scan.
func (k *worker) visit(v *visit) error {
	if v.narrow(); v.passes() {
		v.next = &node{entry: v.prior.entry, files: v.prior.files, rules: v.prior.rules}
		v.descend()
		return nil
	}
	fd, stat, err := k.enter(v.path)
	switch {
	case err == nil:
		defer func() { _ = unix.Close(fd) }()
	case gone(err):
		v.gone = true
		k.counts.Vanished++
		return nil
	case exhausted(err):
		return fmt.Errorf("open %s: %w", merkle.QuotePath(v.path), err)
	case v.path == "":
		return fmt.Errorf("%w: %w", ErrRootUnreadable, err)
	default:
		v.unreadable(err)
		return nil
	}
	v.next = &node{entry: store.StatEntry{Path: v.path, Dir: true, Stat: stat, Racy: k.clock.racy(stat)}}
	if k.scanner.ownData(stat) {
		v.leaveOutData()
		return nil
	}
	p := v.prior
	if v.part != nil {
		return k.revisitPart(v, fd)
	}
	same := p != nil && !p.doubted && !p.entry.Racy && p.entry.Stat == stat
	if same && (p.entry.LeftOut == store.LeftOutNested || p.entry.LeftOut == store.LeftOutData) {
		v.next.entry = p.entry
		return nil
	}
	if same && p.entry.LeftOut == "" {
		state, changed, err := k.readRules(v, fd, func(name string) bool { return p.file(name) != nil })
		if err != nil {
			return err
		}
		if !changed {
			v.next.rules = state
			v.next.entry = p.entry
			return k.revisit(v, fd)
		}
	}
	return k.list(v, fd)
}

func (k *worker) enter(path string) (int, store.Stat, error) {
	if err := k.interfere("enter", path); err != nil {
		return -1, store.Stat{}, err
	}
	fd, err := openBeneath(k.root, path)
	if err != nil {
		return -1, store.Stat{}, err
	}
	if k.follower != nil && !k.isOwnData(fd) {
		k.follower.Enter(path, fd)
	}
	stat, err := fstat(fd)
	if err != nil {
		_ = unix.Close(fd)
		return -1, store.Stat{}, err
	}
	return fd, k.clock.see(stat), nil
}

// isOwnData reports whether an open directory is one of Options.Data: what changes there is
// never of the tree, and following it would find the writes of this process itself.
func (k *worker) isOwnData(fd int) bool {
	if len(k.scanner.opts.Data) == 0 {
		return false
	}
	stat, err := fstat(fd)
	return err == nil && k.scanner.ownData(stat)
}

// revisitPart scans the dirty entries of a known directory.
func (k *worker) revisitPart(v *visit, fd int) error {
	unknown := func(name string) bool {
		return v.prior.file(name) == nil && v.prior.dir(join(v.path, name)) == nil
	}
	if v.part.self || anyKey(v.part.below, unknown) {
		return k.list(v, fd)
	}
	v.next.entry, v.next.rules = v.prior.entry, v.prior.rules
	return k.revisit(v, fd)
}

func anyKey(m map[string]*scope, is func(string) bool) bool {
	for name := range m {
		if is(name) {
			return true
		}
	}
	return false
}

// unreadable keeps the prior state of a directory that cannot be entered, or excludes it when
// there is none.
func (v *visit) unreadable(err error) {
	v.delta.Kept = append(v.delta.Kept, Kept{v.path, store.LeftOutUnreadable, err})
	if v.prior != nil && v.prior.entry.LeftOut == "" {
		v.kept = true
		return
	}
	v.next = &node{entry: store.StatEntry{
		Path: v.path, Dir: true, LeftOut: store.LeftOutUnreadable, Racy: true, Stat: store.Stat{Mode: unix.S_IFDIR},
	}}
}

// revisit stats every known file of an unchanged directory.
func (k *worker) revisit(v *visit, fd int) error {
	old := v.prior.files
	files, copied := old, false
	for i := range old {
		e := &old[i]
		now := e
		if (statted(e) || isRuleFile(baseOf(e.Path))) && !v.unseen(baseOf(e.Path)) {
			var err error
			if now, err = k.examine(v, fd, e.Path, e); err != nil {
				return err
			}
		}
		if now != e && !copied {
			files, copied = slices.Clone(old[:i]), true
		}
		switch {
		case now == nil:
			v.drop(e)
		case copied:
			v.record(e, now)
			files = append(files, *now)
		}
	}
	v.next.files = files
	v.descend()
	return nil
}

// descend visits the known subdirectories of an unchanged directory that are not ignored.
func (v *visit) descend() {
	for _, d := range v.prior.dirs {
		if d.entry.LeftOut != store.LeftOutIgnored {
			if b := v.enter(d); b != nil {
				v.below = append(v.below, b)
				continue
			}
		}
		v.next.dirs = append(v.next.dirs, d)
	}
	if len(v.below) == 0 {
		v.next.dirs = v.prior.dirs
	}
}

// statted reports whether the decision about a file depends on its stat.
func statted(e *store.StatEntry) bool {
	switch e.LeftOut {
	case store.LeftOutIgnored, store.LeftOutSymlink, store.LeftOutSpecial, store.LeftOutSecret:
		return false
	}
	return true
}

// list reads the names of a directory and decides about each.
func (k *worker) list(v *visit, fd int) error {
	err := k.interfere("list", v.path)
	var names []dirent
	if err == nil {
		names, err = list(fd, k.names)
	}
	switch {
	case err != nil && v.path == "":
		return fmt.Errorf("%w: %w", ErrRootUnreadable, err)
	case err != nil:
		v.unreadable(err)
		return nil
	}
	k.counts.Listed++
	v.relisted = true
	slices.SortFunc(names, func(a, b dirent) int { return strings.Compare(a.name, b.name) })
	has := func(name string) bool {
		_, ok := slices.BinarySearchFunc(names, name, func(d dirent, name string) int { return strings.Compare(d.name, name) })
		return ok
	}
	switch {
	case v.path != "" && has(DataMarker) && marked(fd):
		v.leaveOutData()
		return nil
	case v.path != "" && has(".git"):
		v.next.entry.LeftOut = store.LeftOutNested
		v.dropBelow(v.prior)
		return nil
	case v.path == "" && len(names) == 0 && v.prior != nil && len(v.prior.files)+len(v.prior.dirs) > 0 && !k.scanner.opts.AcceptEmpty:
		return ErrRootEmptied
	}
	state, changed, err := k.readRules(v, fd, has)
	if err != nil {
		return err
	}
	if v.next.rules = state; changed {
		v.part = nil
	}
	for _, d := range names {
		if d.name == ".git" {
			continue
		}
		if err := k.decide(v, fd, d, changed); err != nil {
			return err
		}
	}
	v.compare()
	return nil
}

// decide sorts one name into the files, the directories to enter and the excluded ones.
func (k *worker) decide(v *visit, fd int, d dirent, changed bool) error {
	path := join(v.path, d.name)
	if d.mode == 0 {
		d.mode = v.typeOf(fd, path)
	}
	if v.unseen(d.name) && v.carry(path, d) {
		return nil
	}
	rules := v.next.rules.rules
	if d.mode == unix.S_IFDIR {
		old := v.prior.dir(path)
		if rules.Match(path, true).Ignored {
			n := &node{entry: store.StatEntry{Path: path, Dir: true, LeftOut: store.LeftOutIgnored, Stat: store.Stat{Mode: unix.S_IFDIR}}}
			n.add()
			v.next.dirs = append(v.next.dirs, n)
			return nil
		}
		if old != nil && old.entry.LeftOut == store.LeftOutIgnored {
			old = nil
		}
		below := &visit{path: path, prior: old, rules: rules, changed: changed}
		if v.part != nil {
			below.part = v.part.below[d.name]
		}
		v.below = append(v.below, below)
		return nil
	}
	entry := store.StatEntry{Path: path, Stat: store.Stat{Mode: d.mode}}
	switch {
	case secret.Named(path): // first: no rule of the tree may include it
		entry.LeftOut = store.LeftOutSecret
	case rules.Match(path, false).Ignored:
		entry.LeftOut = store.LeftOutIgnored
	case d.mode == unix.S_IFLNK:
		entry.LeftOut = store.LeftOutSymlink
	case d.mode != unix.S_IFREG:
		entry.LeftOut = store.LeftOutSpecial
	}
	if entry.LeftOut != "" && (!isRuleFile(d.name) || d.mode != unix.S_IFREG) {
		v.next.files = append(v.next.files, entry)
		return nil
	}
	now, err := k.examine(v, fd, path, v.prior.file(d.name))
	if err == nil && now != nil {
		v.next.files = append(v.next.files, *now)
	}
	return err
}

// carry keeps the prior entry of a listed name that is not dirty. It returns false when there
// is none, or one of another type.
func (v *visit) carry(path string, d dirent) bool {
	if d.mode == unix.S_IFDIR {
		old := v.prior.dir(path)
		if old != nil {
			v.next.dirs = append(v.next.dirs, old)
		}
		return old != nil
	}
	old := v.prior.file(d.name)
	if old == nil || kind(old.Stat.Mode) != d.mode {
		return false
	}
	v.next.files = append(v.next.files, *old)
	return true
}

// typeOf stats a name for its type on a file system whose directories do not contain types.
// When that fails it returns the prior type, so that the error recurs, and is handled, where
// the file is read or the directory entered.
func (v *visit) typeOf(fd int, path string) uint32 {
	if stat, err := statAt(fd, baseOf(path)); err == nil {
		return kind(stat.Mode)
	}
	if v.prior.dir(path) != nil {
		return unix.S_IFDIR
	}
	return unix.S_IFREG
}

// compare records the differences of a listed directory from its prior state.
func (v *visit) compare() {
	for i := range v.next.files {
		v.record(v.prior.file(baseOf(v.next.files[i].Path)), &v.next.files[i])
	}
	for _, d := range v.next.dirs { // ignored ones, and those taken over
		switch old := v.prior.dir(d.entry.Path); old {
		case d:
		case nil:
			v.record(nil, &d.entry)
		default:
			v.record(&old.entry, &d.entry)
			v.dropBelow(old)
		}
	}
	if v.prior == nil {
		return
	}
	for i := range v.prior.files {
		if v.next.file(baseOf(v.prior.files[i].Path)) == nil {
			v.drop(&v.prior.files[i])
		}
	}
	for _, d := range v.prior.dirs {
		_, entered := slices.BinarySearchFunc(v.below, d.entry.Path, func(b *visit, path string) int { return strings.Compare(b.path, path) })
		if !entered && v.next.dir(d.entry.Path) == nil {
			v.dropNode(d)
		}
	}
}
