package cli

import (
	"fmt"
	"strings"

	"github.com/freshet/freshet/mcp/tool"
)

// briefLines bounds the lines of a hit in the output for people; --json has all of them.
const briefLines = 16

// brief returns the envelope with the long hits of a search shortened, each with the command
// that shows the rest. Targets of read are not shortened.
func brief(e *tool.Envelope) *tool.Envelope {
	short := *e
	short.Results = make([]tool.Hit, len(e.Results))
	for i, h := range e.Results {
		if h.Index == "" {
			h.Content = cutLines(h)
		}
		short.Results[i] = h
	}
	return &short
}

func cutLines(h tool.Hit) string {
	at, lines := 0, 0
	for lines < briefLines {
		next := strings.IndexByte(h.Content[at:], '\n')
		if next < 0 {
			return h.Content
		}
		at += next + 1
		lines++
	}
	more := strings.Count(strings.TrimSuffix(h.Content[at:], "\n"), "\n") + 1
	if more <= 2 || at == len(h.Content) {
		return h.Content
	}
	return h.Content[:at] + fmt.Sprintf("... %d more lines: freshet read %s:%d-%d\n", more, h.FilePath, h.StartLine, h.EndLine)
}
