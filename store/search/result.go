package search

import "fmt"

// page sets the hits of the page and the total; it makes no more hits than are asked for.
func page[T any](r *run, all []T, exact bool, hit func(T) (Hit, error)) error {
	r.result.Total, r.result.TotalExact = len(all), exact
	from := min(r.query.Offset, len(all))
	for _, item := range all[from:min(from+r.query.Limit, len(all))] {
		h, err := hit(item)
		if err != nil {
			return err
		}
		r.result.Hits = append(r.result.Hits, h)
	}
	r.warnSyntax()
	return nil
}

func (r *run) warn(code, format string, arguments ...any) {
	r.result.Warnings = append(r.result.Warnings, Warning{Code: code, Message: fmt.Sprintf(format, arguments...)})
}

func (r *run) warnSyntax() {
	if r.syntax.gone > 0 {
		r.warn("syntax_missing", "signatures of %d files are left out: the store does not give their syntax", r.syntax.gone)
	}
}
