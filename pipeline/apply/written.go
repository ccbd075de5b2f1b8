package apply

import "sync/atomic"

// written counts the bytes of segments that a sealer put into the store.
type written struct {
	bytes, absorbed, compacted atomic.Int64
}

// Written is what a sealer put into the store since it was made.
type Written struct {
	// Bytes are those of all segments. Absorbed and Compacted are the live bytes of old
	// segments among them that were written again, by seals and by Compact.
	Bytes, Absorbed, Compacted int64
}

// Written counts the bytes of segments written so far: the write amplification of the index
// is Bytes / (Bytes - Absorbed - Compacted).
func (s *Sealer) Written() Written {
	return Written{s.written.bytes.Load(), s.written.absorbed.Load(), s.written.compacted.Load()}
}
