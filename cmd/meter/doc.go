// Package meter collects the Prometheus metrics of the pipeline of a process: those of its
// stages, its embedding provider, its checks and its seals, and the lag of the codebases. A
// host and a worker export the same metrics.
package meter
