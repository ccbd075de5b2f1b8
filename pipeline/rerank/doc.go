// Package rerank asks services that the operator chose how well texts answer a query: Voyage,
// Cohere, and servers that speak like Jina's (vLLM, llama.cpp, Infinity) or Hugging Face's
// (text-embeddings-inference). A Provider speaks to one of them. A Resolver decides for each
// query whether it is spoken to at all; a search takes the Resolver for its reranker, and
// sets the deadline.
package rerank
