package mine

import (
	"strings"

	"github.com/cespare/xxhash/v2"

	"github.com/freshet/freshet/cmd/train/pairs"
	"github.com/freshet/freshet/store/lexical"
)

// file is the mining of one file.
type file struct {
	*Miner
	language *language
	number   int16
	source   int32
	path     string
	place    []pairs.Entry // the last words of the path
	lines    []line
}

// add adds a pair unless its kind has enough of the source or its texts were seen too
// often.
func (f *file) add(kind pairs.Kind, query, code string) {
	if f.counts[f.source][kind] >= f.options.PerSource[kind] || len(code) < 30 {
		return
	}
	q, c := xxhash.Sum64String("q"+strings.ToLower(query)), xxhash.Sum64String("c"+code)
	if int(f.seen[q]) >= f.options.Repeats || int(f.seen[c]) >= f.options.Repeats {
		return
	}
	p := pairs.Pair{Query: f.set.Bag([]byte(query)), Place: f.place, Source: f.source, Language: f.number, Kind: kind}
	if len(p.Query) < 2 {
		return
	}
	p.Code = f.set.Bag([]byte(code))
	if len(p.Code) < 4 {
		return
	}
	f.seen[q]++
	f.seen[c]++
	f.counts[f.source][kind]++
	f.set.Add(p)
}

// words joins the tokens of a name.
func words(name string) string { return strings.Join(lexical.Words(name), " ") }

// place returns the last words of a path.
func place(name string) string {
	all := lexical.PathTokens(name)
	return strings.Join(all[max(0, len(all)-placeWords):], " ")
}

// placeWords is how many words of a path say where code stands, from its end.
const placeWords = 12
