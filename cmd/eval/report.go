package eval

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
	"time"
)

// Budgets are the sizes of answers at which recall is measured, in tokens.
func Budgets() []int { return []int{500, 1000, 2000, 4000} }

// Row is the mean over repositories of the means over their queries.
type Row struct {
	Name    string `json:"name"`
	Queries int    `json:"queries"`
	Scores
}

// Report is what an evaluation found.
type Report struct {
	ablations []Ablation
	scored    []map[string]*tally // by ablation and repository
	results   map[string]map[string][]any
	budget    map[int][]float64 // recall by budget, of every query
	first     []float64         // tokens read up to the first place that answers
	missed    int               // real queries of which the engine says that nothing fits
	refused   []bool            // by foreign query
	watch     stopwatch
}

// tally is the scores of the queries of a repository.
type tally struct {
	language   string
	all        []Scores
	byCategory map[string][]Scores
}

func newReport(ablations []Ablation) *Report {
	r := &Report{ablations: ablations, results: map[string]map[string][]any{}, budget: map[int][]float64{}}
	for range ablations {
		r.scored = append(r.scored, map[string]*tally{})
	}
	return r
}

// add counts an answer to a query. The first ablation is the ranking as it is: its hits are
// kept, and the sizes of its answers are measured.
func (r *Report) add(ablation int, repository Repository, q Query, a answer) {
	targets := q.Targets()
	t := r.scored[ablation][repository.Name]
	if t == nil {
		t = &tally{language: repository.Language, byCategory: map[string][]Scores{}}
		r.scored[ablation][repository.Name] = t
	}
	s := Score(a.hits, targets)
	t.all = append(t.all, s)
	t.byCategory[q.Category] = append(t.byCategory[q.Category], s)
	if ablation > 0 {
		return
	}
	if r.results[repository.Name] == nil {
		r.results[repository.Name] = map[string][]any{}
	}
	listed := []any{}
	for _, hit := range a.hits {
		listed = append(listed, []any{hit.Path, hit.Start, hit.End})
	}
	r.results[repository.Name][q.Text] = listed
	if a.none {
		r.missed++
	}
	r.measureSizes(a, targets)
}

// measureSizes counts what fits each budget, hit by hit, and what is read up to the first
// place that answers: all of it when none does.
func (r *Report) measureSizes(a answer, targets []Span) {
	sum, found := 0, false
	within := make([]int, len(Budgets()))
	for i := range a.hits {
		sum += a.tokens[i]
		for j, budget := range Budgets() {
			if sum <= budget {
				within[j] = i + 1
			}
		}
		if !found && slices.ContainsFunc(targets, func(t Span) bool { return covers(a.hits[i], t) }) {
			r.first = append(r.first, float64(sum))
			found = true
		}
	}
	if !found {
		r.first = append(r.first, float64(sum))
	}
	for j, budget := range Budgets() {
		held := 0
		for _, t := range targets {
			if firstRank(a.hits[:within[j]], t) > 0 {
				held++
			}
		}
		r.budget[budget] = append(r.budget[budget], float64(held)/float64(max(1, len(targets))))
	}
}

func (r *Report) addForeign(a answer) { r.refused = append(r.refused, a.none) }

// Overall gives one row for each ablation, the ranking as it is first.
func (r *Report) Overall() []Row {
	rows := make([]Row, len(r.ablations))
	for i, a := range r.ablations {
		rows[i] = r.row(i, a.Name, func(*tally) bool { return true })
	}
	return rows
}

// Repositories gives a row for each repository, of the ranking as it is.
func (r *Report) Repositories() (rows []Row) {
	for _, name := range slices.Sorted(maps.Keys(r.scored[0])) {
		t := r.scored[0][name]
		rows = append(rows, Row{name, len(t.all), mean(t.all)})
	}
	return rows
}

// Languages gives a row for each language.
func (r *Report) Languages() (rows []Row) {
	languages := map[string]bool{}
	for _, t := range r.scored[0] {
		languages[t.language] = true
	}
	for _, language := range slices.Sorted(maps.Keys(languages)) {
		rows = append(rows, r.row(0, language, func(t *tally) bool { return t.language == language }))
	}
	return rows
}

// Categories gives a row for each category of queries.
func (r *Report) Categories() (rows []Row) {
	categories := map[string]bool{}
	for _, t := range r.scored[0] {
		for category := range t.byCategory {
			categories[category] = true
		}
	}
	for _, category := range slices.Sorted(maps.Keys(categories)) {
		var means []Scores
		n := 0
		for _, name := range slices.Sorted(maps.Keys(r.scored[0])) {
			if scores := r.scored[0][name].byCategory[category]; len(scores) > 0 {
				means = append(means, mean(scores))
				n += len(scores)
			}
		}
		rows = append(rows, Row{category, n, mean(means)})
	}
	return rows
}

// row sums in the order of the names, so that equal answers give equal figures.
func (r *Report) row(ablation int, name string, of func(*tally) bool) Row {
	var means []Scores
	n := 0
	for _, repository := range slices.Sorted(maps.Keys(r.scored[ablation])) {
		if t := r.scored[ablation][repository]; of(t) {
			means = append(means, mean(t.all))
			n += len(t.all)
		}
	}
	return Row{name, n, mean(means)}
}

// Sizes are the figures about what an agent reads.
type Sizes struct {
	// Recall is by budget in tokens, the mean over queries.
	Recall map[int]float64 `json:"recall"`
	// First is the mean of the tokens read up to the first place that answers.
	First float64 `json:"tokens_to_first"`
	// Refused is the share of queries about other repositories of which the engine says that
	// nothing fits; Missed that of queries about this one.
	Refused float64 `json:"no_answer_absent"`
	Missed  float64 `json:"no_answer_present"`
}

// Sizes sums up.
func (r *Report) Sizes() Sizes {
	s := Sizes{Recall: map[int]float64{}, First: average(r.first)}
	for budget, all := range r.budget {
		s.Recall[budget] = average(all)
	}
	for _, refused := range r.refused {
		if refused {
			s.Refused += 1 / float64(len(r.refused))
		}
	}
	if n := len(r.first); n > 0 {
		s.Missed = float64(r.missed) / float64(n)
	}
	return s
}

func average(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(max(1, len(values)))
}

// WriteResults writes the hits of every query in the form that score.py reads.
func (r *Report) WriteResults(w io.Writer) error {
	if err := json.NewEncoder(w).Encode(r.results); err != nil {
		return fmt.Errorf("write results: %w", err)
	}
	return nil
}

// MarshalJSON gives every figure.
func (r *Report) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Overall      []Row `json:"overall"`
		Categories   []Row `json:"categories"`
		Languages    []Row `json:"languages"`
		Repositories []Row `json:"repositories"`
		Sizes        Sizes `json:"sizes"`
		Speed        Speed `json:"speed"`
	}{r.Overall(), r.Categories(), r.Languages(), r.Repositories(), r.Sizes(), r.Speed()})
}

// WriteText writes the figures as tables.
func (r *Report) WriteText(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	table := func(title string, rows []Row) {
		_, _ = fmt.Fprintf(t, "%s\tqueries\tNDCG@10\thit@1\trecall@10\tMRR\n", title)
		for _, row := range rows {
			_, _ = fmt.Fprintf(t, "  %s\t%d\t%.4f\t%.3f\t%.3f\t%.3f\n", row.Name, row.Queries, row.NDCG, row.Hit1, row.Recall, row.MRR)
		}
	}
	table("ranking", r.Overall())
	table("category", r.Categories())
	table("language", r.Languages())
	table("repository", r.Repositories())
	s := r.Sizes()
	_, _ = fmt.Fprintf(t, "tokens\t\trecall\n")
	for _, budget := range Budgets() {
		_, _ = fmt.Fprintf(t, "  %d\t\t%.3f\n", budget, s.Recall[budget])
	}
	_, _ = fmt.Fprintf(t, "  to the first answer\t\t%.0f\n", s.First)
	_, _ = fmt.Fprintf(t, "no answer\n  to what is not there\t\t%.3f\n  to what is there\t\t%.3f\n", s.Refused, s.Missed)
	speed := r.Speed()
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	_, _ = fmt.Fprintf(t, "speed\t\tms\n  first index, mean\t\t%.0f\n  first index, median\t\t%.0f\n", ms(speed.IndexMean), ms(speed.IndexMedian))
	_, _ = fmt.Fprintf(t, "  query, median\t%d\t%.2f\n  query, 95th percentile\t\t%.2f\n", speed.Queries, ms(speed.QueryMedian), ms(speed.Query95th))
	if err := t.Flush(); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}
