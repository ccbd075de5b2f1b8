package simulation

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// Kind is what an operation does.
type Kind string

// The operations: of a person at the tree, of a reader, and the faults.
const (
	Write      Kind = "write"      // Path gets content N
	Flicker    Kind = "flicker"    // Path gets content N, is looked at, and gets the next one at once
	Remove     Kind = "remove"     // Path
	Rename     Kind = "rename"     // Path to To
	Ignore     Kind = "ignore"     // hides *.py, or shows them again
	Recipe     Kind = "recipe"     // restarts the host with chunker N
	Search     Kind = "search"     // reads, and compares when the verdict is current
	Kill       Kind = "kill"       // ends the host at once
	Crash      Kind = "crash"      // ends the host before (N even) or after (N odd) its N/2-th write from now
	StoreBack  Kind = "store back" // kills, and puts back the N-th newest copy of the store
	LogBack    Kind = "log back"   // puts back the N-th newest copy of the log
	LogCut     Kind = "log cut"    // loses the newest N messages
	LogReset   Kind = "log reset"  // another log stands in the place of the log
	LogCopy    Kind = "log copy"   // copies the log
	Lose       Kind = "lose"       // the next N deliveries are acknowledged and not handled
	Repeat     Kind = "repeat"     // the next N deliveries are followed by an older one, and handled twice
	Delay      Kind = "delay"      // deliveries to consumer Path, "" for all, take up to N milliseconds more from now on
	Newer      Kind = "newer"      // an event of a newer version is published
	Outage     Kind = "outage"     // the provider is away for N milliseconds
	Limit      Kind = "limit"      // the provider takes one call each N milliseconds
	Damage     Kind = "damage"     // the N-th content that awaits its stages is lost (even) or damaged (odd)
	Unreadable Kind = "unreadable" // Path cannot be read, and gets content N
	Readable   Kind = "readable"   // every file can be read again
	Suspend    Kind = "suspend"    // the host stands still for N milliseconds
)

// Operation is one step of a history. Wait passes before it.
type Operation struct {
	Wait     time.Duration
	Kind     Kind
	Path, To string
	N        int
}

// String is the operation as one line of a report.
func (o Operation) String() string {
	words := []string{fmt.Sprintf("after %-10v", o.Wait), string(o.Kind)}
	for _, word := range []string{o.Path, o.To} {
		if word != "" {
			words = append(words, word)
		}
	}
	return strings.Join(append(words, fmt.Sprint(o.N)), " ")
}

// paths are the files of a tree.
func paths() []string {
	return []string{"a.go", "b.go", "dir/a.go", "dir/c.py", "dir/sub/d.md", "other/e.go", "other/f.txt", "g.py"}
}

// versions is how many contents files may have. Contents of one length are many, so that
// a size never tells two apart.
const versions = 24

// poison is the content that the provider rejects, in any index.
const poison = 13

// Generate returns the history of a seed. Operations may be taken out of it in any way.
func Generate(seed uint64) []Operation {
	g := generator{rand.New(rand.NewPCG(seed, 0x5eed))}
	var out []Operation
	for range 2 + g.IntN(4) {
		out = append(out, Operation{Kind: Write, Path: g.path(), N: g.IntN(versions)})
	}
	// Each history has a few kinds of fault, so that a rare combination is not drowned.
	faults := g.faults()
	for range 8 + g.IntN(24) {
		o := g.operation(faults)
		out = append(out, o)
		if slices.Contains(faults, o.Kind) && g.IntN(3) == 0 {
			out = append(out, Operation{Kind: Search}, Operation{Wait: ackWait + 5*time.Second, Kind: Search})
		}
	}
	return out
}

type generator struct{ *rand.Rand }

func (g generator) path() string { return paths()[g.IntN(len(paths()))] }

// faults picks the kinds of fault of a history.
func (g generator) faults() []Kind {
	all := []Kind{
		Recipe, Kill, Crash, StoreBack, LogBack, LogCut, LogReset, Lose, Repeat, Delay, Newer, Outage, Limit,
		Damage, Unreadable, Suspend,
	}
	g.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:1+g.IntN(4)]
}

func (g generator) operation(faults []Kind) Operation {
	o := Operation{Wait: g.wait(), Path: g.path()}
	switch p := g.IntN(100); {
	case p < 30:
		o.Kind, o.N = Write, g.IntN(versions)
	case p < 34:
		o.Kind, o.N = Flicker, g.IntN(versions)
	case p < 40:
		o.Kind = Remove
	case p < 46:
		o.Kind, o.To = Rename, g.path()
	case p < 49:
		return Operation{Wait: o.Wait, Kind: Ignore}
	case p < 73:
		return Operation{Wait: o.Wait, Kind: Search}
	default:
		o.Kind = faults[g.IntN(len(faults))]
		g.parameters(&o)
	}
	return o
}

// parameters completes a fault.
func (g generator) parameters(o *Operation) {
	path := o.Path
	o.Path = ""
	switch o.Kind {
	case Recipe:
		o.N = g.IntN(2)
	case Crash:
		o.N = g.IntN(40)
	case StoreBack:
		o.N = 1 + g.IntN(16)
	case LogBack:
		o.N = g.IntN(6)
	case LogCut, Lose, Repeat:
		o.N = 1 + g.IntN(6)
	case Delay:
		o.Path = []string{"", "chunk", "embed", "apply"}[g.IntN(4)]
		o.N = []int{0, 200, 2_000, 20_000}[g.IntN(4)]
	case Outage:
		o.N = 100 << g.IntN(8)
	case Limit:
		o.N = 50 << g.IntN(6)
	case Suspend:
		o.N = 500 << g.IntN(9)
	case Damage:
		o.N = g.IntN(16)
	case Unreadable:
		o.Path, o.N = path, g.IntN(versions)
		if g.IntN(3) == 0 {
			o.Kind, o.Path = Readable, ""
		}
	}
}

// wait is mostly as short as the stages take, and now and then longer than a timer.
func (g generator) wait() time.Duration {
	switch p := g.IntN(100); {
	case p < 30:
		return 0
	case p < 70:
		return time.Duration(g.IntN(100)) * time.Millisecond
	case p < 90:
		return time.Duration(g.IntN(3_000)) * time.Millisecond
	case p < 98:
		return time.Duration(g.IntN(60)) * time.Second
	}
	return 150 * time.Second
}
