package chunk

import (
	"fmt"
	"time"
)

// sandboxLayer is one restriction of a child process, which works without the others.
type sandboxLayer struct {
	name  string
	apply func() error
}

// applySandbox applies layers to this process, irreversibly. It returns the layers that could
// not be applied, with their reasons: a child without one of them is still more restricted
// than its parent.
func applySandbox(layers []sandboxLayer) (lacks []string) {
	for _, l := range layers {
		if err := l.apply(); err != nil {
			lacks = append(lacks, fmt.Sprintf("%s: %v", l.name, err))
		}
	}
	return lacks
}

// examineTime bounds the start of the child of Examine.
const examineTime = time.Minute

// Examine starts a child with a command as a Pool does, ends it, and returns the layers of
// the sandbox that are missing on this system, by name; none means that it is complete.
func Examine(command []string) (lacks []string, err error) {
	c, err := startChild(command, nil, examineTime)
	if err != nil {
		return nil, err
	}
	c.stop()
	return c.lacks, nil
}
