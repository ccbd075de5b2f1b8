package tool

// Tool describes one tool of the MCP server. Dispatch answers it under its name.
type Tool struct {
	Name, Title, Description string
	Annotations              Annotations
	// NewParams returns a pointer to an empty value of the struct that the tool's input is
	// decoded into; its json and jsonschema tags are the only source of the input schema.
	// Beside its members Dispatch takes "cwd", the working directory of a local caller,
	// which a transport may add and a client may not.
	NewParams func() any
}

// Annotations say what a tool does to the world, and why each of them is so.
type Annotations struct {
	// ReadOnly: the tool changes neither the source tree nor what published snapshots say.
	ReadOnly bool
	// Destructive: the tool can take away what cannot be made again by calling it again.
	Destructive bool
	// Idempotent: a repeat with the same arguments changes nothing more.
	Idempotent bool
	// OpenWorld: the tool speaks to something beyond this index and its trees.
	OpenWorld bool
	Reason    string
}

// Tools lists the tools in the order in which they are documented.
func Tools() []Tool {
	const closed = " Closed world: only registered directories and their index are touched."
	reads := func(reason string) Annotations {
		return Annotations{ReadOnly: true, Idempotent: true, Reason: reason + closed}
	}
	return []Tool{
		{
			Name: ToolSearch, Title: "Search code",
			Description: "Searches the code of an indexed directory by meaning, words, symbol, path, literal or regular expression. " +
				"Use mode exact or regex for every place of a text (all call sites, all uses of a key), hybrid to find what a question describes. " +
				"The tree is checked before every answer, which says how fresh it is. Begin with verbosity summary; read hits with read_code.",
			Annotations: reads("Read-only: it may seal what changed on disk before it answers, and changes neither files nor published snapshots."),
			NewParams:   func() any { return new(SearchCodebase) },
		},
		{
			Name: ToolRead, Title: "Read code",
			Description: "Shows files, line ranges, symbols or search hits as they are on disk now, with their hash and whether the index has them so. " +
				"Works while the index is being built or refuses to answer.",
			Annotations: reads("Read-only: files are opened for reading, secrets and anything in .git are refused."),
			NewParams:   func() any { return new(ReadCode) },
		},
		{
			Name: ToolList, Title: "List codebases",
			Description: "Lists what is indexed, and tells of one codebase: its state, progress, structure, health, fingerprint, history, or why a path is or is not indexed.",
			Annotations: reads("Read-only: it reports, and waits for progress when asked to."),
			NewParams:   func() any { return new(ListCodebases) },
		},
		{
			Name: ToolCompare, Title: "Compare snapshots",
			Description: "Lists what was added, modified, removed, renamed or reprocessed between two snapshots, by file, symbol or chunk. " +
				"Tells changes of the source from changes of the index settings.",
			Annotations: reads("Read-only: it compares two sealed snapshots, which never change."),
			NewParams:   func() any { return new(CompareSnapshots) },
		},
		{
			Name: ToolManage, Title: "Manage the index",
			Description: "Registers and indexes a directory, brings an index up to date, rebuilds, repairs, cancels or removes it. " +
				"Returns an operation at once; follow it with list_codebases, view progress. Source files are never touched.",
			Annotations: Annotations{Destructive: true, Idempotent: true, Reason: "Not read-only: it changes the index. Destructive: clear removes an index with its retained snapshots, " +
				"after a second call that repeats a token. Idempotent: an operation that runs is returned, not started again, and one that ended finds nothing to do." + closed},
			NewParams: func() any { return new(ManageIndex) },
		},
	}
}
