// Package secret decides what is a secret: files by their names, and credentials by the
// form of the text that they stand in. It imports nothing of the project, so that whoever
// reads, shows or sends source text asks the same functions.
//
// Named decides about paths. A file with such a name is never opened, listed as left out,
// and refused by every reader.
//
// Find looks for credentials in a text, and Mask covers them with the name of the rule that
// found them: in answers, exports, recordings, and in what a provider or a reranker over a
// network gets. The index itself, which stays in the data directory, holds the text as it
// is. Rules are of three kinds: prefixed tokens, values that the name of a service's
// credential is given, and structures (private keys, JSON web tokens, passwords in URLs).
// The formats are those that services publish for their tokens and that the rule sets of
// gitleaks, TruffleHog, detect-secrets and GitHub's secret scanning name; they are written
// anew as fixed prefixes, alphabets and lengths, without regular expressions. Entropy
// decides only beside a keyword. One pass of an Aho-Corasick automaton over the keywords of
// all rules finds where to look.
//
// What is not found: credentials without a form and a name, those that are split, encoded
// or computed, and placeholders on purpose (EXAMPLE, xxxx, words).
package secret
