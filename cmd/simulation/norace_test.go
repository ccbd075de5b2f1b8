//go:build !race

package simulation_test

// racing is set when the race detector is on.
const racing = false
