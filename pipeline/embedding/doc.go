// Package embedding owns the provider seam and the stage that gives every chunk text a
// vector. What a provider must do is defined by the suite in embeddingtest; package
// builtin is the provider that needs nothing.
package embedding
