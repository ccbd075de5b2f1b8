//go:build linux

package chunk

// #cgo LDFLAGS: -Wl,--wrap=clock_gettime
// #include "steps.h"
import "C"

import (
	"runtime"
	"sync"
)

var setupSteps = sync.OnceFunc(func() { C.steps_setup() })

// stepsCounted is true where the parser's limit counts steps, so that the content is the cause
// of a parse that exceeds it.
const stepsCounted = true

// microsPerStep is the part of the parser's limit that a step uses.
const microsPerStep = 1

// addStep counts one more step of the parse under way on this goroutine.
func addStep() { C.steps_add() }

// countSteps calls parse, which calls the tree-sitter runtime on this goroutine, with the
// runtime's clock replaced by a count of its parse actions in hundreds: a limit of n
// microseconds ends the parse after n hundred actions. It returns that count.
func countSteps(parse func()) int {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	setupSteps()
	C.steps_begin()
	parse()
	return int(C.steps_end())
}
