package lexical

import "strings"

// minStem is the fewest letters that are left of a word without its ending.
const minStem = 3

// Inflections returns the forms of an English word that are likely to mean the same in
// code, beside the word itself, in a fixed order: plurals, -ed and -ing, and the nouns in
// -er, -or and -ion. Forms that do not exist are among them and do no harm: nobody wrote
// them. A query that is expanded by them finds what Porter's stemmer ("An algorithm for
// suffix stripping", 1980) would find, while the index keeps the words as they are.
func Inflections(word string) []string {
	if len(word) < minStem || strings.TrimLeft(word, "abcdefghijklmnopqrstuvwxyz") != "" {
		return nil
	}
	f := forms{seen: map[string]bool{word: true}}
	for _, stem := range stems(word) {
		f.inflect(stem)
	}
	return f.list
}

// forms collects distinct words.
type forms struct {
	seen map[string]bool
	list []string
}

func (f *forms) add(words ...string) {
	for _, word := range words {
		if len(word) >= minStem && !f.seen[word] {
			f.seen[word] = true
			f.list = append(f.list, word)
		}
	}
}

// inflect adds a stem and its forms.
func (f *forms) inflect(stem string) {
	f.add(stem, stem+"s", stem+"es")
	if y, ok := strings.CutSuffix(stem, "y"); ok {
		f.add(y+"ies", y+"ied")
	}
	short := strings.TrimSuffix(stem, "e")
	for _, ending := range []string{"ed", "ing", "er", "ers", "or", "ion", "ions", "ation"} {
		f.add(short + ending)
	}
	if n := len(stem); !vowel(stem[n-1]) && vowel(stem[n-2]) {
		doubled := stem + stem[n-1:] // stop, stopped
		f.add(doubled+"ed", doubled+"ing")
	}
}

// stems returns what a word may be a form of, itself first.
func stems(word string) []string {
	out := []string{word}
	keep := func(words ...string) {
		for _, stem := range words {
			if len(stem) >= minStem {
				out = append(out, stem)
			}
		}
	}
	if stem, ok := strings.CutSuffix(word, "ies"); ok {
		keep(stem + "y")
	} else if stem, ok := strings.CutSuffix(word, "s"); ok && !strings.HasSuffix(stem, "s") {
		keep(stem, strings.TrimSuffix(stem, "e"))
	}
	for _, ending := range []string{"ing", "ed", "er", "ers", "or", "ion", "ations", "ation", "ions"} {
		stem, ok := strings.CutSuffix(word, ending)
		if !ok || len(stem) < minStem {
			continue
		}
		keep(stem, stem+"e")
		if n := len(stem); stem[n-1] == stem[n-2] && !vowel(stem[n-1]) {
			keep(stem[:n-1])
		}
	}
	return out
}

func vowel(c byte) bool { return strings.IndexByte("aeiou", c) >= 0 }
