// Package merkle owns the tree of a codebase: an immutable Merkle DAG of directories and
// files, its canonical root, and the difference between two trees. It knows neither disks
// nor stores; package scan reads the disk and builds trees with it.
//
// A directory's hash is SHA-256 over a label and its sorted entries (kind, name bytes,
// child hash), so that equal roots prove equal trees (Merkle, "A Digital Signature Based
// on a Conventional Encryption Function", 1987).
package merkle
