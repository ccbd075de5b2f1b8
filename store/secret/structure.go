package secret

import "bytes"

// structure is a rule for a form that is more than a prefix and its rest.
type structure struct {
	id, keyword string
	match       matcher
}

func structures() []structure {
	return []structure{
		{"private-key", "-----begin", privateKey},
		{"putty-private-key", "private-lines:", puttyKey},
		{"json-web-token", "eyj", jsonWebToken},
		{"url-password", "://", urlPassword},
		{"terraform-cloud-token", ".atlasv1.", terraformToken},
		{"telegram-bot-token", ":aa", telegramToken},
		{"azure-client-secret", "q~", azureSecret},
		{"openai-key", "t3blbkfj", openAIKey},
		{"password", "password", password},
		{"password", "passwd", password},
		{"password", "pwd", password},
	}
}

// Bounds of a private key: how far its END may be, and the least of its body.
const (
	maxKey  = 32 << 10
	minBody = 64
)

// privateKey covers the body of a key in PEM form, PGP's included, in lines or in one line
// with escapes; a header alone is code that speaks of keys.
func privateKey(data []byte, _, end int) (Span, bool) {
	head := data[end:min(len(data), end+80)]
	kind := bytes.Index(head, []byte("PRIVATE KEY"))
	dashes := bytes.Index(head, []byte("-----"))
	if kind < 0 || dashes < kind {
		return Span{}, false
	}
	from := end + dashes + len("-----")
	body := data[from:min(len(data), from+maxKey)]
	if stop := bytes.Index(body, []byte("-----")); stop >= 0 {
		body = body[:stop]
	} else {
		body = body[:keyLines(body)]
	}
	if letters := encoded(body); letters < minBody || letters*2 < len(body) {
		return Span{}, false
	}
	for len(body) > 0 && (body[0] == '\n' || body[0] == '\r') {
		body, from = body[1:], from+1
	}
	return Span{from, from + len(body), "private-key"}, true
}

// encoded counts the letters of base64 in runs that are longer than words: source text
// between a header and a footer that it mentions has few.
func encoded(text []byte) int {
	const longest = 20
	letters, run := 0, 0
	for _, b := range text {
		if !base64[b] {
			run = 0
			continue
		}
		switch run++; {
		case run == longest:
			letters += run
		case run > longest:
			letters++
		}
	}
	return letters
}

// keyLines returns the length of the lines of base64 that a text begins with.
func keyLines(text []byte) int {
	at := 0
	for at < len(text) {
		line := text[at:]
		if end := bytes.IndexByte(line, '\n'); end >= 0 {
			line = line[:end+1]
		}
		trimmed := bytes.Trim(line, " \t\r\n\"'+,`\\")
		if base64.run(trimmed, 0, 0) != len(trimmed) && bytes.IndexByte(trimmed, ':') < 0 {
			break
		}
		at += len(line)
	}
	return at
}

func puttyKey(data []byte, _, end int) (Span, bool) {
	line := bytes.IndexByte(data[end:min(len(data), end+20)], '\n')
	if line < 0 {
		return Span{}, false
	}
	from := end + line + 1
	body := data[from:min(len(data), from+maxKey)]
	n := keyLines(body)
	if stop := bytes.Index(body[:n], []byte("Private-")); stop >= 0 {
		n = stop
	}
	return Span{from, from + n, "putty-private-key"}, n >= minBody
}

// jsonWebToken finds three parts of base64, the first two of which are JSON objects.
func jsonWebToken(data []byte, start, _ int) (Span, bool) {
	if string(data[start:start+3]) != "eyJ" || inWord(data, start) {
		return Span{}, false
	}
	at := start
	for part := range 3 {
		to := dashed.run(data, at, 0)
		if to-at < 12 || (part == 1 && !bytes.HasPrefix(data[at:], []byte("eyJ"))) {
			return Span{}, false
		}
		if part == 2 {
			return Span{start, to, "json-web-token"}, random(data[at:to])
		}
		if to >= len(data) || data[to] != '.' {
			return Span{}, false
		}
		at = to + 1
	}
	return Span{}, false
}

// urlPassword finds scheme://user:password@host and covers the password.
func urlPassword(data []byte, start, end int) (Span, bool) {
	if start == 0 || !alnum[data[start-1]] {
		return Span{}, false
	}
	colon, i := -1, end
	for limit := min(len(data), end+300); i < limit; i++ {
		switch data[i] {
		case ' ', '\t', '\r', '\n', '/', '"', '\'', '`', '<', '>', '\\', '(', ')', '|', ',':
			return Span{}, false
		case '$', '{', '}', '[', ']', '*': // variables, patterns, what is masked
			return Span{}, false
		case ':':
			if colon < 0 {
				colon = i
			}
			continue
		case '@':
		default:
			continue
		}
		break
	}
	if colon < 0 || i >= len(data) || data[i] != '@' || i+1 >= len(data) || !alnum[data[i+1]] {
		return Span{}, false
	}
	user, pass := data[end:colon], data[colon+1:i]
	if len(pass) < 6 || bytes.EqualFold(user, pass) || bytes.IndexByte(pass, '%') == 0 || standsForPassword(pass) {
		return Span{}, false
	}
	return Span{colon + 1, i, "url-password"}, true
}

// standsForPassword reports the words that documents write in the place of a password.
func standsForPassword(value []byte) bool {
	lower := bytes.ToLower(value)
	for _, word := range []string{"pass", "pwd", "secret", "example", "changeme", "xxx", "user", "token", "test", "admin", "foo", "bar", "12345", "...", "cred", "qwerty", "guest", "postgres", "mysql", "root"} {
		if bytes.Contains(lower, []byte(word)) {
			return true
		}
	}
	return false
}

func terraformToken(data []byte, start, end int) (Span, bool) {
	from := back(alnum, data, start, 14)
	to := dashed.run(data, end, 80)
	return Span{from, to, "terraform-cloud-token"}, start-from == 14 && to-end >= 60 && random(data[end:to])
}

func telegramToken(data []byte, start, _ int) (Span, bool) {
	if string(data[start:start+3]) != ":AA" {
		return Span{}, false
	}
	from := start
	for from > 0 && start-from < 11 && data[from-1] >= '0' && data[from-1] <= '9' {
		from--
	}
	to := dashed.run(data, start+1, 36)
	return Span{from, to, "telegram-bot-token"}, start-from >= 8 && start-from <= 10 && to-start-1 >= 34 && to-start-1 <= 36 && random(data[start+1:to])
}

func azureSecret(data []byte, start, end int) (Span, bool) {
	from := back(dotTilde, data, start, 4)
	if string(data[start:end]) != "Q~" || start-from != 4 || data[start-1] < '0' || data[start-1] > '9' {
		return Span{}, false
	}
	to := dotTilde.run(data, end, 36)
	return Span{from, to, "azure-client-secret"}, to-end >= 31 && to-end <= 36 && random(data[from:to])
}

func openAIKey(data []byte, start, end int) (Span, bool) {
	if string(data[start:end]) != "T3BlbkFJ" {
		return Span{}, false
	}
	from := back(dashed, data, start, 120)
	from += max(0, bytes.Index(data[from:start], []byte("sk-")))
	to := dashed.run(data, end, 120)
	return Span{from, to, "openai-key"}, bytes.HasPrefix(data[from:], []byte("sk-")) && !inWord(data, from) && to-end >= 20
}

// password finds a value of mixed kinds of letters that a password's name is given: in
// quotes, or a longer one with a sign that no word and no expression has.
func password(data []byte, _, end int) (Span, bool) {
	from, quote, ok := valueOf(data, end)
	if !ok {
		return Span{}, false
	}
	to, least := printable.run(data, from, 64), 8
	signed := bytes.ContainsAny(data[from:to], "!^*#~")
	if quote == 0 {
		least = 12
	}
	n := to - from
	if (quote == 0 && (!signed || data[from] == '@')) || n < least || n > 64 || !ends(data, to, quote) || (to < len(data) && data[to] == '@') {
		return Span{}, false
	}
	value := data[from:to]
	var digit, small, big, other bool
	for _, b := range value {
		switch {
		case b >= '0' && b <= '9':
			digit = true
		case b >= 'a' && b <= 'z':
			small = true
		case b >= 'A' && b <= 'Z':
			big = true
		default:
			other = true
		}
	}
	kinds := 0
	for _, has := range []bool{digit, small, big, other} {
		if has {
			kinds++
		}
	}
	if !digit || kinds < 3 || standsForPassword(value) || !random(value) || (n >= 12 && !signed && written(value)) {
		return Span{}, false
	}
	return Span{from, to, "password"}, true
}
