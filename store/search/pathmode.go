package search

func (r *run) paths() error { return nil }
