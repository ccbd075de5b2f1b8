package apply

import "sync/atomic"

// written counts the bytes of segments that a sealer put into the store.
type written struct{ bytes, again atomic.Int64 }

// note adds to the counts, and tells whoever asked to be told.
func (s *Sealer) note(bytes, again int64) {
	s.written.bytes.Add(bytes)
	s.written.again.Add(again)
	s.opts.OnWritten(bytes, again)
}

// Written counts the bytes of segments put into the store since the sealer was made, and
// those of them that the index had before, which were written again by a merge. The write
// amplification is bytes / (bytes - again).
func (s *Sealer) Written() (bytes, again int64) {
	return s.written.bytes.Load(), s.written.again.Load()
}
