// Package chunk cuts a content into chunks on syntax boundaries and reads its definitions
// and references. It is the only owner of tree-sitter and of cgo.
//
// What a content is cut into depends on (language, content, Version, grammar version) and
// on nothing else, so that its syntax is computed once and kept. Cut works in this
// process; a daemon uses a Pool, whose warm child processes run Cut for it, because a
// grammar can be crashed or hung by a file of a few hundred bytes. Fallback cuts by lines
// in pure Go and cannot fail.
//
// A child sandboxes itself before it reads the first content (confinement.go): Landlock,
// seccomp and resource limits leave it what parsing needs. How a content is cut depends on
// the steps of its parse (steps.go), never on a clock: a crash and a parse that exceeds its
// steps are caused by the content (ChildDied); a child that is killed, hangs or exceeds its
// CPU time proves nothing about the content (ChildLost).
//
// A language is one value in its own file, one line in the list in languages.go, for a
// grammar one query file under queries, and one fixture under testdata.
//
// The way of a content: a language reads an outline (definitions with their spans,
// references, statements); outline.go turns it into a tree of units of whole lines;
// items.go flattens that tree into items that fit, and pack.go joins small neighbours
// into chunks.
package chunk
