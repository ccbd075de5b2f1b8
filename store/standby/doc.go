// Package standby answers reads while a shared store cannot be reached, from what it was
// asked for before.
//
// A reader that a network cut off from PostgreSQL has most of what its next answer needs: the
// segments are mapped, and the rest it read a moment ago. What is answered so is as it was
// when the store was last heard; whoever answers with it asks Away and says so. Nothing that
// writes, and nothing that decides what to write, may read through this package.
package standby
