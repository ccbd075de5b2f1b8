// Package ignore decides which paths of a tree are ignored, with git's semantics of
// .gitignore files: negation, anchoring, "**", character classes, escapes, directories
// only, and the rule that nothing below an ignored directory can be taken back.
//
// It reads no disk: package scan hands it the bytes of ignore files. In each directory a
// .freshetignore is read after the .gitignore, in the same syntax, and so has the last
// word. Below all of them stands .git/info/exclude. What is not part of the tree is not
// consulted: neither core.excludesFile nor core.ignoreCase (names are compared as bytes).
package ignore
