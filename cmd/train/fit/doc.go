// Package fit trains a table of word vectors so that the two texts of a pair come near each
// other: symmetric InfoNCE (van den Oord, Li and Vinyals, "Representation learning with
// contrastive predictive coding", 2018) with the other pairs of a block as negatives, all
// of one source where possible, and per-element Adagrad (Duchi, Hazan and Singer, JMLR
// 2011). Words begin random, shortened by their frequency (Arora, Liang and Ma, "A simple
// but tough-to-beat baseline for sentence embeddings", ICLR 2017).
//
// The same set, options and seed give the same bits, whatever the number of processors:
// work is divided so that no element is added to from two goroutines, and no product is
// fused with a sum.
package fit
