package search

import "context"

func (r *run) regex(ctx context.Context) error { return nil }
