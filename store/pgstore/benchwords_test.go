package pgstore

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/freshet/freshet/store/lexical"
	"github.com/freshet/freshet/store/search"
	"github.com/freshet/freshet/store/segment"
)

// BenchmarkWords measures what it would take to have the server propose chunks by their
// words, as it proposes them by their vectors: a GIN index over the tokens of the chunks,
// asked for those that have any, or all, of the words of a query, the best first; beside the
// whole answer of the engine, which reads the postings of its mapped segments and ranks.
func BenchmarkWords(b *testing.B) {
	chunks := 20_000
	if n, err := strconv.Atoi(os.Getenv(benchChunksEnv)); err == nil {
		chunks = n
	}
	w := newWide(b, chunks)
	conn := rawConn(b, database(b), "")
	exec := func(b *testing.B, sql string, args ...any) {
		b.Helper()
		if _, err := conn.Exec(b.Context(), sql, args...); err != nil {
			b.Fatal(err)
		}
	}
	exec(b, "SELECT set_config('freshet.tenant', $1, false)", w.s.tenant)
	exec(b, "CREATE TABLE words_of_chunks (segment bigint, chunk bigint, words text[])")
	defer exec(b, "DROP TABLE words_of_chunks")
	copyWords(b, conn, w)
	b.Run("build", func(b *testing.B) {
		for b.Loop() {
			exec(b, "DROP INDEX IF EXISTS words_of_chunks_gin")
			exec(b, "CREATE INDEX words_of_chunks_gin ON words_of_chunks USING gin (words) WITH (fastupdate = off)")
		}
		b.ReportMetric(float64(chunks*b.N)/b.Elapsed().Seconds(), "chunks/s")
	})
	exec(b, "ANALYZE words_of_chunks")
	for _, c := range []struct{ name, operator string }{{"any", "&&"}, {"all", "@>"}} {
		b.Run("server/"+c.name, func(b *testing.B) {
			percentiles(b, func() {
				text, _ := w.query()
				rows, err := conn.Query(b.Context(), `SELECT segment, chunk FROM words_of_chunks WHERE words `+c.operator+` $1
					ORDER BY (SELECT count(*) FROM unnest(words) AS w WHERE w = ANY($1)) DESC LIMIT 1000`, lexical.Words(text))
				if err != nil {
					b.Fatal(err)
				}
				if _, err := pgx.CollectRows(rows, pgx.RowToStructByPos[struct{ Segment, Chunk int64 }]); err != nil {
					b.Fatal(err)
				}
			})
		})
	}
	b.Run("engine", func(b *testing.B) {
		engine := search.New(w.s, &variableEmbedder{}, search.Options{})
		defer func() { _ = engine.Close() }()
		percentiles(b, func() {
			text, _ := w.query()
			r, err := engine.Search(b.Context(), w.view, search.Query{Text: text, Mode: search.ModeText})
			if err != nil || len(r.Hits) == 0 {
				b.Fatal(len(r.Hits), r.Warnings, err)
			}
		})
	})
}

// copyWords copies the tokens of every chunk.
func copyWords(b *testing.B, conn *pgx.Conn, w *wide) {
	b.Helper()
	var rows [][]any
	for _, ref := range w.view.Segments {
		g, err := segment.Open(opened(b, w.s, ref.ID))
		if err != nil {
			b.Fatal(err)
		}
		for file := range g.Files() {
			info := g.File(file)
			content, err := w.s.Content(b.Context(), info.Entry.Content)
			if err != nil {
				b.Fatal(err)
			}
			for i, line := range strings.Split(strings.TrimSpace(string(content)), "\n") {
				rows = append(rows, []any{int64(ref.ID), int64(info.FirstChunk + i), lexical.Words(line)})
			}
		}
	}
	if _, err := conn.CopyFrom(b.Context(), pgx.Identifier{"words_of_chunks"}, []string{"segment", "chunk", "words"}, pgx.CopyFromRows(rows)); err != nil {
		b.Fatal(err)
	}
}
