// Package eval measures retrieval quality: it indexes annotated repositories with the
// product's own pipeline, asks every query of the product's own engine, and reports
// NDCG@10 and its relatives, also with one signal of the ranking switched off at a time.
//
// The form of the queries and the scoring rule are those of the code search benchmark of
// MinishLab/semble (MIT licence): targets have equal gain, the first ten hits count as they
// are listed, and the overall score is the mean over repositories of the mean over their
// queries.
package eval
