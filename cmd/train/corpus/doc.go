// Package corpus brings the trainer's sources together: the Go distribution, Go modules,
// npm packages and Debian source packages, each pinned in a manifest by name, version,
// licence and digest. It fetches by the ordinary clients (go, npm, apt-get), refuses what
// does not match its digest, and reads the archives where they lie. Nothing of it is
// committed but the manifest.
//
// The projects of the evaluation benchmark, and what holds copies of their files, stay
// out; see Excluded and Shingles.
package corpus
