package search

func (r *run) symbols() {}
