package tool

// CompareSnapshots are the parameters of compare_snapshots.
type CompareSnapshots struct {
	From  uint64 `json:"from" jsonschema:"number of the older snapshot, as list_codebases with view history shows"`
	To    uint64 `json:"to,omitempty" jsonschema:"number of the newer snapshot; default the one served"`
	Level string `json:"level,omitempty" jsonschema:"file (default), symbol or chunk"`
	Where
	Limit  int    `json:"limit,omitempty" jsonschema:"most changes listed; default 200"`
	Cursor string `json:"cursor,omitempty" jsonschema:"next_cursor of an earlier answer"`
	Shape
}
