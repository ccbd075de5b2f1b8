package tool

import (
	"fmt"
	"strings"
)

// Grade says how good what was examined is.
type Grade string

// The grades.
const (
	GradeGood Grade = "ok"
	// GradePoor works, but worse or less surely than it could.
	GradePoor Grade = "warning"
	// GradeBad keeps freshet from working.
	GradeBad Grade = "error"
)

// Finding is one thing that doctor examined. Advice says what to do about it, "" when
// there is nothing to do.
type Finding struct {
	Check  string `json:"check"`
	Grade  Grade  `json:"grade"`
	Detail string `json:"detail"`
	Advice string `json:"advice,omitempty"`
	// Damage is set when something that is kept is not what was written.
	Damage bool `json:"damage,omitempty"`
}

func writeFindings(b *strings.Builder, findings []Finding) {
	for _, f := range findings {
		fmt.Fprintf(b, "%-8s %-12s %s\n", f.Grade, f.Check, oneLine(f.Detail))
		if f.Advice != "" {
			fmt.Fprintf(b, "%-21s %s\n", "", oneLine(f.Advice))
		}
	}
}
