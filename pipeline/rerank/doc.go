// Package rerank scores texts against a query by a service that the operator chose: Voyage,
// Cohere, and servers with the API of Jina (vLLM, llama.cpp, Infinity) or of Hugging Face
// (text-embeddings-inference). A Provider is the client of one service. A Resolver decides for
// each query whether the service is called, with a circuit breaker; a search uses the Resolver
// as its reranker, and sets the deadline.
package rerank
