// Package event owns the events of the log: their types, versions, identities, limits and
// their one encoding. Events carry paths and hashes, never text or vectors. Fields are
// added, never changed; testdata holds one file per type and version that must decode for
// ever.
package event
