package tool

// SearchCodebase are the parameters of search_codebase.
type SearchCodebase struct {
	Query string `json:"query" jsonschema:"words, a question, a symbol name, a path, a literal or a regular expression, by mode"`
	Mode  string `json:"mode,omitempty" jsonschema:"hybrid (default), semantic, text, symbol, path; exact (a literal) and regex (RE2) give every matching line"`
	Case  string `json:"case,omitempty" jsonschema:"of modes exact and regex: smart (exact's default: a capital letter makes it matter), sensitive (regex's default) or insensitive"`
	Where
	Paths   []string `json:"paths,omitempty" jsonschema:"globs that keep files; a leading ! takes files out"`
	Langs   []string `json:"langs,omitempty" jsonschema:"file types: languages, or extensions with their dot"`
	Kinds   []string `json:"kinds,omitempty" jsonschema:"kinds of definition: function, method, class, struct, interface, ..."`
	Limit   int      `json:"limit,omitempty" jsonschema:"most hits; default 10, at most 100"`
	Context int      `json:"context_lines,omitempty" jsonschema:"lines around each hit, shown at verbosity full; at most 50"`
	Explain bool     `json:"explain,omitempty" jsonschema:"show every signal of each score"`
	At      uint64   `json:"at,omitempty" jsonschema:"number of a retained snapshot to search instead of the tree as it is"`
	Cursor  string   `json:"cursor,omitempty" jsonschema:"next_cursor of an earlier answer to the same query"`
	Demand
	Shape
}
