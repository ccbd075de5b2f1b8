// Package meter measures the pipeline of a process: what its stages, its provider, its
// checks and its seals did, and how far behind the codebases are that it may ask about. A
// host and a worker serve the same metrics.
package meter
