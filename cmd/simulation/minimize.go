package simulation

import (
	"slices"
	"time"
)

// Minimize shortens a list of operations as long as fails says that it still fails, by
// delta debugging (Zeller's ddmin), and then their waits. It calls fails at most budget
// times.
func Minimize(operations []Operation, budget int, fails func([]Operation) bool) []Operation {
	try := func(candidate []Operation) bool {
		if budget == 0 {
			return false
		}
		budget--
		return fails(candidate)
	}
	for parts := 2; len(operations) > 1; {
		size := (len(operations) + parts - 1) / parts
		shorter := false
		for from := 0; from < len(operations); from += size {
			candidate := slices.Concat(operations[:from], operations[min(from+size, len(operations)):])
			if try(candidate) {
				operations, shorter = candidate, true
				parts = max(parts-1, 2)
				break
			}
		}
		switch {
		case shorter:
		case size == 1:
			return withoutWaits(operations, try)
		default:
			parts = min(2*parts, len(operations))
		}
	}
	return withoutWaits(operations, try)
}

// withoutWaits takes away the waits that a failure does not need.
func withoutWaits(operations []Operation, fails func([]Operation) bool) []Operation {
	operations = slices.Clone(operations)
	for i, o := range operations {
		if o.Wait == 0 {
			continue
		}
		operations[i].Wait = time.Duration(0)
		if !fails(operations) {
			operations[i].Wait = o.Wait
		}
	}
	return operations
}
