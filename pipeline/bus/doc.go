// Package bus owns the event log: durable, at least once, on NATS JetStream. Bus is the
// seam; what it must do is defined by the suite in bustest, and membus is the in-memory
// twin. The log is replayable and never the only truth: the store knows its incarnation
// and sequence, and what is missing is published again.
package bus
