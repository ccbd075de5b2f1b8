package cluster

import (
	"github.com/freshet/freshet/pipeline"
	"github.com/freshet/freshet/store/pgstore"
	"github.com/freshet/freshet/store/search"
)

// Candidates is an approximate vector index of sealed snapshots: it is filled after each seal,
// and gives readers candidates, so that they need not scan all vectors.
type Candidates interface {
	pipeline.CandidateIndex
	search.CandidateIndex
}

var _ Candidates = (*pgstore.Store)(nil)
