// Package natsbus keeps the event log in NATS JetStream: in a server inside this process,
// which listens on nothing, or in a remote one. It is the only package that knows NATS.
//
// The log of a tenant is one stream with the subjects "freshet.<tenant>.<codebase>.<lane>"
// and one small stream of dead letters. Messages of one publish are one atomic batch, on
// disk before they are acknowledged. The stream's metadata holds what the log must know of
// itself: its incarnation, the version of its settings, and how many messages were purged.
// The last gives the proof of completeness: sequences begin at 1 and every message gets
// the next one, so that
//
//	last sequence = messages held + messages purged
//
// holds as long as nothing was lost. The embedded server is made to read its files, not
// its summary of them, whenever it starts, so that the left side is what is truly there.
//
// Two things the server does not check are checked here: where a message's headers end, by
// a checksum of our own in each message, which Open compares for the whole embedded log;
// and the state of consumers, by checksums that Close leaves for the next Open.
//
// A purge of a whole codebase leaves nothing of it to read: see keyring.
//
// JetStream does not lock its directory: whoever calls Open with a directory must hold a
// lock of their own on it.
package natsbus
