package secret

import (
	"bytes"
	"math"
)

// match finds a prefixed token. The prefix is compared with its case.
func (t token) match(data []byte, start, end int) (Span, bool) {
	if string(data[start:end]) != t.prefix {
		return Span{}, false
	}
	if alnum[t.prefix[0]] && inWord(data, start) {
		return Span{}, false
	}
	to := t.class.run(data, end, t.most)
	n := to - end
	if n < t.least || (t.most > 0 && n > t.most) || (to < len(data) && alnum[data[to]]) || !random(data[end:to]) {
		return Span{}, false
	}
	return Span{start, to, t.id}, true
}

// inWord reports whether a place is inside a word. The letters of an escape (\n, %3D) end
// one: a line of a string literal or a value in a URL begins behind them.
func inWord(data []byte, at int) bool {
	if at == 0 || !alnum[data[at-1]] {
		return false
	}
	if at > 1 && data[at-2] == '\\' && bytes.IndexByte([]byte("nrt"), data[at-1]) >= 0 {
		return false
	}
	return at < 3 || data[at-3] != '%' || !hexAny[data[at-2]] || !hexAny[data[at-1]]
}

// run returns where the bytes of a class that begin at a place end, at most one behind a
// bound, without what ends a sentence.
func (c *class) run(data []byte, at, most int) int {
	limit := len(data)
	if most > 0 {
		limit = min(limit, at+most+1)
	} else {
		limit = min(limit, at+maxValue)
	}
	to := at
	for to < limit && c[data[to]] {
		to++
	}
	for to > at && (data[to-1] == '.' || data[to-1] == '-') {
		to--
	}
	return to
}

// back returns where the bytes of a class that end at a place begin, at most so many.
func back(c *class, data []byte, at, most int) int {
	from := at
	for from > 0 && at-from < most && c[data[from-1]] {
		from--
	}
	return from
}

const (
	// maxValue bounds a value whose rule has no bound.
	maxValue = 8 << 10
	// maxName bounds what of a name follows its keyword, and maxGap what stands between a
	// name and its value.
	maxName, maxGap = 40, 24
)

// match finds a value that is given to a name with the keyword.
func (a assigned) match(data []byte, start, end int) (Span, bool) {
	from, quote, ok := valueOf(data, end)
	if !ok {
		return Span{}, false
	}
	to := a.class.run(data, from, a.most)
	if n := to - from; n < a.least || n > a.most || !ends(data, to, quote) {
		return Span{}, false
	}
	value := data[from:to]
	if stop := bytes.IndexByte(value, '&'); quote == 0 && stop >= a.least {
		value = value[:stop] // of the next parameter of a URL
	}
	if !random(value) || (a.entropy > 0 && entropy(value) < a.entropy) {
		return Span{}, false
	}
	if a.id == "generic-credential" && (!credible(value, quote != 0) || identifier(data, end)) {
		return Span{}, false
	}
	return Span{from, to, a.id}, true
}

// valueOf returns where the value begins that a name is given, and the quote that stands
// before it, 0 for none: name = "value", "name": 'value', name: type = value, name=value,
// Header: Bearer value.
func valueOf(data []byte, at int) (from int, quote byte, ok bool) {
	i := at
	for limit := min(len(data), i+maxName); i < limit && (dashed[data[i]] || data[i] == '.'); {
		i++
	}
	limit := min(len(data), i+maxGap)
	operator := bytes.IndexByte([]byte(" =:"), data[at-1]) >= 0 || (at > 6 && bytes.EqualFold(data[at-6:at], []byte("bearer")))
	for i < limit && bytes.IndexByte([]byte("\"'`[])\\ \t"), data[i]) >= 0 {
		i++
	}
	for i < limit && bytes.IndexByte([]byte("=:>,("), data[i]) >= 0 {
		operator = true
		i++
	}
	i = blanks(data, i, limit)
	if typed := afterType(data, i, limit); typed > 0 {
		i, operator = blanks(data, typed, limit), true
	}
	operator = operator || defined(data, at)
	for _, conversion := range []string{"[]byte(", "String::from("} {
		if bytes.HasPrefix(data[i:], []byte(conversion)) {
			i += len(conversion)
		}
	}
	if !operator || i >= len(data) {
		return 0, 0, false
	}
	for _, scheme := range []string{"Bearer ", "bearer ", "Basic ", "basic ", "token "} {
		if bytes.HasPrefix(data[i:], []byte(scheme)) {
			i += len(scheme)
		}
	}
	if i+1 < len(data) && data[i] == '\\' && (data[i+1] == '"' || data[i+1] == '\'') {
		i++
	}
	if i+1 < len(data) && bytes.IndexByte([]byte("bruf@"), data[i]) >= 0 && (data[i+1] == '"' || data[i+1] == '\'') {
		i++
	}
	if i < len(data) && (data[i] == '"' || data[i] == '\'' || data[i] == '`') {
		quote = data[i]
		i++
		for _, scheme := range []string{"Bearer ", "Basic ", "token "} {
			if bytes.HasPrefix(data[i:], []byte(scheme)) {
				i += len(scheme)
			}
		}
	}
	return i, quote, i < len(data)
}

func blanks(data []byte, i, limit int) int {
	for i < limit && (data[i] == ' ' || data[i] == '\t') {
		i++
	}
	return i
}

// afterType returns the place behind "type =" when that stands at i, 0 when it does not.
func afterType(data []byte, i, limit int) int {
	at := i
	for _, reference := range []string{"&'static ", "&"} {
		if bytes.HasPrefix(data[i:], []byte(reference)) {
			i += len(reference)
			break
		}
	}
	for i < limit && (alnum[data[i]] || data[i] == '*' || data[i] == '.' || data[i] == '?') {
		i++
	}
	if i == at {
		return 0
	}
	i = blanks(data, i, limit)
	if i+1 < len(data) && data[i] == '=' && data[i+1] != '=' {
		return i + 1
	}
	return 0
}

// defined reports whether the word that ends at a place is in the name of a C macro.
func defined(data []byte, at int) bool {
	from := back(dashed, data, at, maxName)
	return bytes.HasSuffix(bytes.TrimRight(data[:from], " \t"), []byte("#define"))
}

// ends reports whether a value ends at a place: at its quote, or where no expression goes on.
func ends(data []byte, at int, quote byte) bool {
	if at == len(data) {
		return true
	}
	if quote != 0 {
		return data[at] == quote || data[at] == '\\' || data[at] == '@'
	}
	if data[at] == '.' { // of a sentence
		return at+1 == len(data) || bytes.IndexByte([]byte(" \t\r\n"), data[at+1]) >= 0
	}
	return bytes.IndexByte([]byte(" \t\r\n\"'`,;)}]&|<\\#"), data[at]) >= 0
}

// entropy is Shannon's, in bits a byte.
func entropy(value []byte) float64 {
	var counts [256]int
	for _, b := range value {
		counts[b]++
	}
	sum := 0.0
	for _, n := range counts {
		if n > 0 {
			p := float64(n) / float64(len(value))
			sum -= p * math.Log2(p)
		}
	}
	return sum
}

// random reports whether a value may have been drawn, and was not written down to stand for
// one: EXAMPLE, xxxx, 1234567890.
func random(value []byte) bool {
	var seen [256]bool
	distinct, longest, run := 0, 0, 0
	ascending, rising := 0, 0
	for i, b := range value {
		if !seen[b] {
			seen[b] = true
			distinct++
		}
		if i > 0 && b == value[i-1] {
			run++
		} else {
			run = 0
		}
		if i > 0 && b == value[i-1]+1 {
			rising++
		} else {
			rising = 0
		}
		longest, ascending = max(longest, run), max(ascending, rising)
	}
	if distinct < min(7, 2+len(value)/3) || longest >= 5 || ascending >= 7 {
		return false
	}
	lower := bytes.ToLower(value)
	for _, word := range []string{"example", "placeholder", "redacted", "yourkey", "your_", "your-", "dummy", "changeme", "masked", "abcdef012345"} {
		if bytes.Contains(lower, []byte(word)) {
			return false
		}
	}
	return !bytes.Contains(value, []byte("xxxx")) && !bytes.Contains(value, []byte("XXXX"))
}

// credible reports whether a value without a form of its own looks drawn and not written:
// it has letters and digits, and is not made of words, numbers and separators.
func credible(value []byte, quoted bool) bool {
	if bits := entropy(value); bits < 3.6 && (bits < 3 || hexDash.run(value, 0, 0) < len(value)) {
		return false // sixteen letters have at most 4 bits
	}
	if bytes.HasPrefix(value, []byte("ft1_")) {
		return false // a freshness token, which says what was indexed and opens nothing
	}
	if !quoted && len(value) <= len("0x0123456789abcdef") && bytes.HasPrefix(value, []byte("0x")) {
		return false // a number
	}
	if scattered(value) || uuid(value) {
		return true
	}
	var digit, small, big int
	for _, b := range value {
		switch {
		case b >= '0' && b <= '9':
			digit++
		case b >= 'a' && b <= 'z':
			small++
		case b >= 'A' && b <= 'Z':
			big++
		}
	}
	if digit < 2 || small+big < 2 || (!quoted && (digit < 3 || (small > 0) == (big > 0) && len(value) < 24)) {
		return false
	}
	return !written(value)
}

// scattered reports whether small and big letters and digits follow each other as they do in
// values that are drawn, where six of ten letters are of another kind than the one before;
// in words in camel case it is about one of three.
func scattered(value []byte) bool {
	var counts [3]int
	pairs, changes, last := 0, 0, -1
	for _, b := range value {
		kind := -1
		switch {
		case b >= '0' && b <= '9':
			kind = 0
		case b >= 'a' && b <= 'z':
			kind = 1
		case b >= 'A' && b <= 'Z':
			kind = 2
		}
		if kind >= 0 {
			counts[kind]++
			if last >= 0 {
				pairs++
				if kind != last {
					changes++
				}
			}
		}
		last = kind
	}
	return counts[1] > 3 && counts[2] > 3 && pairs > 11 && 2*changes >= pairs
}

// identifier reports whether the name that goes on at a place says that its value is an
// identifier, which is no secret: BIOS_PASSWORD_GUID.
func identifier(data []byte, at int) bool {
	rest := data[at:min(len(data), at+maxName)]
	name := bytes.ToLower(rest[:dashed.run(rest, 0, 0)])
	return bytes.HasSuffix(name, []byte("guid")) || bytes.HasSuffix(name, []byte("uuid"))
}

// uuid reports whether a value has the form of RFC 9562: 8-4-4-4-12 hexadecimal digits.
func uuid(value []byte) bool {
	if len(value) != 36 {
		return false
	}
	for i, b := range value {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		if dash != (b == '-') || !dash && !hexAny[b] {
			return false
		}
	}
	return true
}

// written reports whether a value is words, numbers and separators: a name, a path, a
// version, a date.
func written(value []byte) bool {
	changes, parts := 0, 1
	kind := func(b byte) int {
		switch {
		case b >= '0' && b <= '9':
			return 1
		case alnum[b]:
			return 2
		}
		return 0
	}
	for i, b := range value {
		if kind(b) == 0 {
			parts++
		}
		if i > 0 && kind(b) != 0 && kind(value[i-1]) != 0 && kind(b) != kind(value[i-1]) {
			changes++
		}
	}
	return changes < 3 || (parts > 2 && changes < 2*parts)
}
