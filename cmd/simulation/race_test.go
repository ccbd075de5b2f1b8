//go:build race

package simulation_test

// racing is set when the race detector is on, which makes a history ten times slower.
const racing = true
