package event

import "encoding/json"

// reserve is the room left in a message for its header and punctuation.
const reserve = 4 << 10

// SplitFiles divides files, in order, into the fewest runs that each fit one message by
// number and by encoded size. A file that alone is over the size gets a run of its own,
// which Encode refuses: nothing is dropped here. It returns nil for no files. The runs
// share the array of files.
func SplitFiles(files []File) [][]File {
	return split(files)
}

// SplitPaths divides quoted paths as SplitFiles divides files.
func SplitPaths(paths []string) [][]string {
	return split(paths)
}

func split[T any](items []T) [][]T {
	var runs [][]T
	start, size := 0, 0
	for i, item := range items {
		n := encodedSize(item)
		if i > start && (i-start == MaxPaths || size+n > MaxBytes-reserve) {
			runs = append(runs, items[start:i:i])
			start, size = i, 0
		}
		size += n
	}
	if start < len(items) {
		runs = append(runs, items[start:len(items):len(items)])
	}
	return runs
}

// encodedSize is how many bytes an item takes in a list, its comma included. An item that
// cannot be encoded counts as one that does not fit: Encode names the cause.
func encodedSize(item any) int {
	data, err := json.Marshal(item)
	if err != nil {
		return MaxBytes
	}
	return len(data) + 1
}
