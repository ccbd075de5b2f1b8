// Package exposition counts what a process does and writes it in the text format of
// Prometheus, version 0.0.4. Counters and histograms keep their values; gauges are read
// when they are asked for and added to a Page.
//
// Labels come from sets that the program or the operator fixes, never from what clients
// send: their number does not grow without bound.
package exposition
