package chunk

import (
	"fmt"
	"time"
)

// layer is one way of confining a child process, which works without the others.
type layer struct {
	name  string
	apply func() error
}

// confine applies layers to this process, for good. It returns what could not be applied,
// with its reason: a child with one layer less is still better confined than its parent.
func confine(layers []layer) (lacks []string) {
	for _, l := range layers {
		if err := l.apply(); err != nil {
			lacks = append(lacks, fmt.Sprintf("%s: %v", l.name, err))
		}
	}
	return lacks
}

// examineTime bounds the start of a child that is only looked at.
const examineTime = time.Minute

// Examine starts a child with a command as a Pool does, ends it, and returns what its
// confinement lacks on this system, by name; none means that it is complete.
func Examine(command []string) (lacks []string, err error) {
	c, err := startChild(command, nil, examineTime)
	if err != nil {
		return nil, err
	}
	c.stop()
	return c.lacks, nil
}
