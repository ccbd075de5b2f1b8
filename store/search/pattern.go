package search

import (
	"bytes"
	"fmt"
	"regexp"
	"regexp/syntax"
)

// Limits of a regular expression and of its scan.
const (
	maxRepeat      = 250
	maxInstruction = 2000
)

// pattern is a compiled regular expression over single lines, with a text that every match
// holds, which spares most contents the expression.
type pattern struct {
	*regexp.Regexp
	literal []byte
	size    int // instructions, each of which may be tried at every byte
}

func compilePattern(text string) (*pattern, error) {
	bad := func(format string, arguments ...any) (*pattern, error) {
		return nil, &BadQuery{Field: "text", Message: fmt.Sprintf(format, arguments...)}
	}
	tree, err := syntax.Parse(text, syntax.Perl)
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
	compiled, err := regexp.Compile(text)
	if err != nil {
		return bad("bad regular expression: %v", err)
	}
	literal := []byte(required(tree))
	if bytes.IndexByte(literal, '\n') >= 0 {
		return bad("asks for a line break, and lines are matched one at a time: search for what stands on one line")
	}
	return &pattern{Regexp: compiled, literal: literal, size: len(program.Inst)}, nil
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

// required returns the longest text that every match must hold, or "".
func required(tree *syntax.Regexp) string {
	switch tree.Op {
	case syntax.OpLiteral:
		if tree.Flags&syntax.FoldCase != 0 {
			return ""
		}
		return string(tree.Rune)
	case syntax.OpCapture, syntax.OpPlus:
		return required(tree.Sub[0])
	case syntax.OpConcat:
		longest := ""
		for _, sub := range tree.Sub {
			if text := required(sub); len(text) > len(longest) {
				longest = text
			}
		}
		return longest
	}
	return ""
}
