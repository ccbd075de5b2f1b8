package merkle

// Leaf is one file of a tree: two digests of the same bytes. XX is xxHash64, the cheap
// answer to "did these bytes change"; Content is SHA-256 and goes into the root.
type Leaf struct {
	XX      uint64
	Content Hash
}

// ChangeKind says how a path differs between two trees.
type ChangeKind uint8

// The kinds of change.
const (
	Added ChangeKind = iota + 1
	Modified
	Removed
	// Renamed is an added path whose content equals that of a path removed in the same
	// diff; Change.From names the removed one, which is not listed again as Removed.
	Renamed
)

// String returns the lower-case word for k.
func (k ChangeKind) String() string {
	switch k {
	case Added:
		return "added"
	case Modified:
		return "modified"
	case Removed:
		return "removed"
	case Renamed:
		return "renamed"
	}
	return "unknown"
}

// Change is one difference between an old and a new tree. Path is relative to the root,
// with slashes, its bytes as the file system gave them. Leaf is the new leaf, or for
// Removed the old one. From is set for Renamed only.
type Change struct {
	Kind ChangeKind
	Path string
	From string
	Leaf Leaf
}
