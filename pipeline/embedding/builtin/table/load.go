package table

import (
	"encoding/binary"
	"unsafe"
)

// eight reads eight components from an offset. Open has proven that rows of the table's
// dimension, a multiple of 8, lie there for every ordinal; a bounds check for each eight
// components would cost a third of the sum.
func eight(base *byte, offset uint32) uint64 {
	bytes := (*[8]byte)(unsafe.Add(unsafe.Pointer(base), offset))
	return binary.LittleEndian.Uint64(bytes[:])
}
