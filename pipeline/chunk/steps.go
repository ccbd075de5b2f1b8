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

// stepsCounted says that the parser's limit counts steps, and so is the content's doing.
const stepsCounted = true

// microsPerStep is what the parser's limit takes for a step.
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
