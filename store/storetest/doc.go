// Package storetest is the definition of a correct store: a suite that every backend runs
// in its own tests. It covers the contract of store.Reader and store.Writer sentence by
// sentence, and compares the backend with memstore under random, repeated and reordered
// calls. What only one backend has (files, migrations, crashes) is tested in its folder.
package storetest
