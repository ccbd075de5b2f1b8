package search

import (
	"bytes"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"

	"github.com/freshet/freshet/store/trigram"
)

// Limits of a regular expression and of its scan.
const (
	maxRepeat      = 250
	maxInstruction = 2000
)

// Case says whether letters that differ by case only are the same to modes exact and regex.
type Case string

// The rules of case.
const (
	// CaseSmart tells them apart when the text has a letter in upper case: the default of
	// mode exact.
	CaseSmart Case = "smart"
	// CaseSensitive tells them apart: the default of mode regex.
	CaseSensitive Case = "sensitive"
	// CaseInsensitive takes them for the same.
	CaseInsensitive Case = "insensitive"
)

// Cases lists the rules of case.
func Cases() []Case { return []Case{CaseSmart, CaseSensitive, CaseInsensitive} }

// insensitive reports whether a query takes upper and lower case for the same.
func (q Query) insensitive() bool {
	switch {
	case q.Case == CaseSmart || q.Case == "" && q.Mode == ModeExact:
		return !strings.ContainsFunc(q.Text, unicode.IsUpper)
	default:
		return q.Case == CaseInsensitive
	}
}

// pattern is what modes exact and regex look for: a compiled expression over single lines,
// or over whole contents when it asks for a line feed.
type pattern struct {
	*regexp.Regexp
	// literals are texts one of which every match holds, which spares most contents the
	// expression; none when no such texts are known. They are folded, and looked for in the
	// folded content, when fold is set.
	literals [][]byte
	fold     bool
	plain    bool           // whatever holds the literal, which is the only one, matches
	returns  bool           // the expression names carriage returns: they belong to a line
	across   bool           // matches may go over several lines
	size     int            // instructions, each of which may be tried at every byte
	query    *trigram.Query // of the contents that may match
}

// compilePattern makes the pattern of a query of mode exact or regex.
func compilePattern(q Query) (*pattern, error) {
	text := q.Text
	if q.Mode == ModeExact {
		text = regexp.QuoteMeta(text)
	}
	flags := "(?m)"
	if q.insensitive() {
		flags = "(?im)"
	}
	bad := func(format string, arguments ...any) (*pattern, error) {
		return nil, &BadQuery{Field: "text", Message: fmt.Sprintf(format, arguments...)}
	}
	if _, err := syntax.Parse(text, syntax.Perl); err != nil { // told of without the flags
		return bad("bad regular expression: %v", err)
	}
	tree, err := syntax.Parse(flags+text, syntax.Perl)
	if err != nil {
		return bad("bad regular expression: %v", err)
	}
	if n := largestRepeat(tree); n > maxRepeat {
		return bad("repeats %d times, at most %d", n, maxRepeat)
	}
	tree = tree.Simplify()
	program, err := syntax.Compile(tree)
	if err != nil {
		return bad("bad regular expression: %v", err)
	}
	if len(program.Inst) > maxInstruction {
		return bad("is too large: %d instructions, at most %d", len(program.Inst), maxInstruction)
	}
	compiled, err := regexp.Compile(flags + text)
	if err != nil {
		return bad("bad regular expression: %v", err)
	}
	p := &pattern{Regexp: compiled, across: goesOn(tree), returns: strings.ContainsRune(q.Text, '\r') || strings.Contains(q.Text, `\r`), size: len(program.Inst), query: trigram.Regexp(tree)}
	texts, fold := required(tree)
	if q.Mode == ModeExact && !p.across {
		p.plain, texts, fold = true, []string{q.Text}, q.insensitive()
	}
	p.fold = fold
	for _, text := range texts {
		literal := []byte(text)
		if fold {
			literal = trigram.Fold(nil, literal)
		}
		p.literals = append(p.literals, literal)
	}
	return p, nil
}

func largestRepeat(tree *syntax.Regexp) int {
	n := 0
	if tree.Op == syntax.OpRepeat {
		n = max(tree.Min, tree.Max)
	}
	for _, sub := range tree.Sub {
		n = max(n, largestRepeat(sub))
	}
	return n
}

// goesOn reports whether an expression asks for line feeds by name, or by a dot that takes
// them: then its matches may go over several lines. A class that a line feed happens to be
// in, as [^"], is of one line, as it is to grep.
func goesOn(tree *syntax.Regexp) bool {
	switch tree.Op {
	case syntax.OpLiteral:
		return slices.Contains(tree.Rune, '\n')
	case syntax.OpAnyChar:
		return true
	case syntax.OpCharClass:
		return len(tree.Rune) == 2 && (tree.Rune[0] == '\n' && tree.Rune[1] == '\n' || // [\s\S] and its like
			tree.Rune[0] == 0 && tree.Rune[1] == unicode.MaxRune)
	}
	return slices.ContainsFunc(tree.Sub, goesOn)
}

// maxLiterals bounds the texts of alternatives that are looked for one by one.
const maxLiterals = 12

// required returns texts one of which every match must hold, none when there are none that
// tell much, and whether they may stand there in another case. Of what stands in a row the
// part whose shortest text is longest is taken.
func required(tree *syntax.Regexp) (texts []string, fold bool) {
	switch tree.Op {
	case syntax.OpLiteral:
		if slices.Contains(tree.Rune, '\uFFFD') { // which also stands for bytes that are not UTF-8
			return nil, false
		}
		return []string{string(tree.Rune)}, tree.Flags&syntax.FoldCase != 0
	case syntax.OpCapture, syntax.OpPlus:
		return required(tree.Sub[0])
	case syntax.OpConcat:
		for _, sub := range tree.Sub {
			if other, folded := required(sub); shortest(other) > shortest(texts) {
				texts, fold = other, folded
			}
		}
	case syntax.OpAlternate:
		for _, sub := range tree.Sub {
			other, folded := required(sub)
			if shortest(other) < 2 || len(texts)+len(other) > maxLiterals {
				return nil, false
			}
			texts, fold = append(texts, other...), fold || folded
		}
	}
	return texts, fold
}

func shortest(texts []string) (n int) {
	for i, text := range texts {
		if i == 0 || len(text) < n {
			n = len(text)
		}
	}
	return n
}

// haystack is the content as the literals are looked for in it.
func (p *pattern) haystack(content []byte) []byte {
	if !p.fold {
		return content
	}
	return trigram.Fold(make([]byte, 0, len(content)), content)
}

// A line shows so many places of matches at most, and the lines of an answer are searched
// for them with so many steps.
const (
	markLimit = 16
	markSteps = 1 << 25
)

// marks returns where a line matches, nothing when that costs more steps than are left.
func (p *pattern) marks(line []byte, steps *int64) (marks []Mark) {
	line = p.trim(line)
	if *steps -= 4 * int64(p.size) * int64(len(line)+1); *steps < 0 {
		return nil
	}
	for _, at := range p.FindAllIndex(line, markLimit) {
		if at[0] < at[1] {
			marks = append(marks, Mark{uint32(at[0]), uint32(at[1])})
		}
	}
	return marks
}

// trim takes the end off a line: the line feed, and a carriage return before it unless the
// expression speaks of those.
func (p *pattern) trim(line []byte) []byte {
	line = bytes.TrimSuffix(line, []byte{'\n'})
	if p.returns {
		return line
	}
	return bytes.TrimSuffix(line, []byte{'\r'})
}
