package cluster

import (
	"github.com/freshet/freshet/pipeline"
	"github.com/freshet/freshet/store/pgstore"
	"github.com/freshet/freshet/store/search"
)

// Candidates indexes what was sealed, and proposes candidates of it to readers that would
// otherwise compare every vector.
type Candidates interface {
	pipeline.CandidateIndex
	search.CandidateIndex
}

var _ Candidates = (*pgstore.Store)(nil)
