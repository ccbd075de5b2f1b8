package ignore

import "strings"

// list is the patterns of one ignore file, indexed so that a path meets few of them.
// The places in names, paths and endings are in falling order, like those in rest.
type list struct {
	file     string
	base     string // the directory of the file with a slash at its end, "" for the root
	patterns []pattern
	names    map[string][]int // unanchored literals by name
	paths    map[string][]int // anchored literals by path below base
	endings  map[string][]int // "*.x" by ".x", when x has no dot
	rest     []int
}

// compileList returns nil for a file without patterns.
func compileList(file, dir string, data []byte) *list {
	patterns := parseFile(data)
	if len(patterns) == 0 {
		return nil
	}
	l := &list{file: file, patterns: patterns}
	if dir != "" {
		l.base = dir + "/"
	}
	l.names, l.paths, l.endings = map[string][]int{}, map[string][]int{}, map[string][]int{}
	for i := len(patterns) - 1; i >= 0; i-- {
		p := &patterns[i]
		switch {
		case p.suffix && strings.LastIndexByte(p.body, '.') == 1:
			l.endings[p.body[1:]] = append(l.endings[p.body[1:]], i)
		case p.suffix || p.glob != nil:
			l.rest = append(l.rest, i)
		case p.anchored:
			l.paths[p.body] = append(l.paths[p.body], i)
		default:
			l.names[p.body] = append(l.names[p.body], i)
		}
	}
	return l
}

// match returns the last pattern that matches, or nil. The path lies below l.base.
func (l *list) match(path, name string, isDir bool) *pattern {
	best := -1
	pick := func(places []int) {
		for _, i := range places {
			if i <= best {
				return
			}
			if isDir || !l.patterns[i].dirOnly {
				best = i
				return
			}
		}
	}
	path = path[len(l.base):]
	if len(l.names) > 0 {
		pick(l.names[name])
	}
	if len(l.paths) > 0 {
		pick(l.paths[path])
	}
	if len(l.endings) > 0 {
		if dot := strings.LastIndexByte(name, '.'); dot >= 0 {
			pick(l.endings[name[dot:]])
		}
	}
	for _, i := range l.rest {
		if i < best {
			break
		}
		p := &l.patterns[i]
		if p.dirOnly && !isDir {
			continue
		}
		if (p.anchored && p.matchesPath(path)) || (!p.anchored && p.matchesName(name)) {
			best = i
			break
		}
	}
	if best < 0 {
		return nil
	}
	return &l.patterns[best]
}
