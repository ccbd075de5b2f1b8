package tool

// listing says what a list is of, and which part of it is wanted.
type listing struct {
	cursor string
	// limit is the most items of the answer, 0 for all.
	limit int
	// snapshot and of bind the cursor of the next part.
	snapshot uint64
	of       []any
}

// paged gives a list to fit: the part that begins where the cursor stands.
func paged[T any](c *call, all []T, l listing, set func(shown []T)) error {
	digest, start := digestOf(l.of...), 0
	if l.cursor != "" {
		var err error
		if start, err = c.readCursor(l.cursor, l.snapshot, digest); err != nil {
			return err
		}
	}
	part := all[min(start, len(all)):]
	if l.limit > 0 {
		part = part[:min(l.limit, len(part))]
	}
	c.page = &page{items: len(part), keep: func(n int) {
		e := c.env
		set(append([]T{}, part[:n]...))
		e.TotalCount, e.ReturnedCount = len(all), n
		e.RemainingCount = max(0, len(all)-start-n)
		e.HasMore, e.NextCursor = e.RemainingCount > 0, ""
		if e.HasMore && c.tool != "" {
			e.NextCursor = writeCursor(start+n, l.snapshot, digest)
		}
	}}
	return nil
}
