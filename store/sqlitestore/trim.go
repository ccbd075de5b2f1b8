package sqlitestore

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/rules"
	"github.com/freshet/freshet/sync/merkle"
)

// TrimManifest removes the rows of a codebase that hold for no snapshot that is left.
// Rows of the latest snapshot have no end and stay; only ended ones are read.
func (r *rows) TrimManifest(_ context.Context, id store.CodebaseID, left []rules.Snapshot) error {
	b, err := r.codebase(id)
	if err != nil {
		return err
	}
	var ended []fileRow
	err = r.c.eachFile("INDEXED BY manifest_last WHERE codebase = ? AND last < 9223372036854775807", []any{b.key}, func(f fileRow) error {
		ended = append(ended, f)
		return nil
	})
	if err != nil {
		return fmt.Errorf("list ended rows: %w", err)
	}
	for _, f := range ended {
		held, wanted := f.use(left)
		switch {
		case held || (wanted && f.tombstone):
			continue
		case wanted:
			f.tombstone = true
			err = r.c.changeFile(b.key, f)
		default:
			err = r.c.exec("DELETE FROM manifest WHERE codebase = ? AND path = ? AND first = ?", b.key, blob(f.Path), f.first)
		}
		if err != nil {
			return fmt.Errorf("trim row: %w", err)
		}
	}
	return nil
}

// use says whether a snapshot holds the file of a row, and whether the delta of one wants
// to know that it ended.
func (f fileRow) use(left []rules.Snapshot) (held, wanted bool) {
	for _, n := range left {
		number, base := int64(n.Number), int64(n.Base)
		held = held || (f.first <= number && number < f.last)
		wanted = wanted || (f.first <= base && base < f.last && f.last <= number)
	}
	return held, wanted
}

// markManifest marks the contents of the rows that are left.
func (g *sweep) markManifest() error {
	err := g.c.eachFile("WHERE content IS NOT NULL", nil, func(f fileRow) error {
		g.contents[f.Content] = true
		return nil
	})
	if err != nil {
		return fmt.Errorf("read manifests: %w", err)
	}
	return nil
}

// sweepContents removes contents that no row names and that are not young, and marks the
// young ones, whose syntaxes stay.
func (g *sweep) sweepContents() error {
	var gone []int64
	err := g.c.each("SELECT id, hash, size, put_at FROM contents", nil, func(rows *sql.Rows) error {
		var id, size, at int64
		var hash sql.RawBytes
		if err := rows.Scan(&id, &hash, &size, &at); err != nil {
			return err
		}
		var h merkle.Hash
		copy(h[:], hash)
		switch {
		case at > g.young:
			g.contents[h] = true
		case !g.contents[h]:
			gone = append(gone, id)
			g.collected.Contents++
			g.collected.Bytes += size
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("list contents: %w", err)
	}
	if err := g.drop(gone, "DELETE FROM contents WHERE id = ?"); err != nil {
		return err
	}
	return g.s.sweepFrames(g.c)
}

// drop runs statements for each id.
func (g *sweep) drop(ids []int64, statements ...string) error {
	for _, id := range ids {
		for _, statement := range statements {
			if err := g.c.exec(statement, id); err != nil {
				return fmt.Errorf("sweep: %w", err)
			}
		}
	}
	return nil
}

// sweepSyntax removes syntaxes of contents that are gone or of versions that no recipe
// has, with their marks, and vectors that no syntax left names.
func (g *sweep) sweepSyntax() error {
	texts := map[merkle.Hash]bool{}
	var gone []int64
	err := g.c.each("SELECT id, content, version, texts FROM syntaxes", nil, func(rows *sql.Rows) error {
		var id, version int64
		var content, hashes sql.RawBytes
		if err := rows.Scan(&id, &content, &version, &hashes); err != nil {
			return err
		}
		var h merkle.Hash
		copy(h[:], content)
		if !g.contents[h] || !g.versions[version] {
			gone = append(gone, id)
			return nil
		}
		for rest := []byte(hashes); len(rest) >= len(h); rest = rest[len(h):] {
			texts[merkle.Hash(rest[:len(h)])] = true
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("list syntaxes: %w", err)
	}
	g.collected.Syntaxes = len(gone)
	if err := g.drop(gone, "DELETE FROM syntaxes WHERE id = ?"); err != nil {
		return err
	}
	if err := g.sweepMarks(gone); err != nil {
		return err
	}
	return g.sweepVectors(texts)
}

func (g *sweep) sweepMarks(syntaxes []int64) error {
	dropped := make(map[int64]bool, len(syntaxes))
	for _, id := range syntaxes {
		dropped[id] = true
	}
	var gone [][2]int64
	err := g.c.each("SELECT embedding, syntax FROM embedded", nil, func(rows *sql.Rows) error {
		var embedding, syntax int64
		err := rows.Scan(&embedding, &syntax)
		if dropped[syntax] || !g.embeddings[embedding] {
			gone = append(gone, [2]int64{embedding, syntax})
		}
		return err
	})
	for _, mark := range gone {
		err = firstError(err, g.c.exec("DELETE FROM embedded WHERE embedding = ? AND syntax = ?", mark[0], mark[1]))
	}
	if err != nil {
		return fmt.Errorf("sweep marks: %w", err)
	}
	return nil
}

func (g *sweep) sweepVectors(texts map[merkle.Hash]bool) error {
	var gone []int64
	err := g.c.each("SELECT id, embedding, text FROM vectors INDEXED BY sqlite_autoindex_vectors_1", nil, func(rows *sql.Rows) error {
		var id, embedding int64
		var text sql.RawBytes
		if err := rows.Scan(&id, &embedding, &text); err != nil {
			return err
		}
		var h merkle.Hash
		copy(h[:], text)
		if !g.embeddings[embedding] || !texts[h] {
			gone = append(gone, id)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("list vectors: %w", err)
	}
	g.collected.Vectors = len(gone)
	return g.drop(gone, "DELETE FROM vectors WHERE id = ?")
}

func (g *sweep) sweepSegments() error {
	all, err := g.c.segments()
	if err != nil {
		return err
	}
	var gone []int64
	for _, row := range all {
		if !g.segments[row.ref.ID] && row.putAt <= g.young {
			gone = append(gone, int64(row.ref.ID))
			g.collected.Segments++
			g.collected.Bytes += row.ref.Bytes
		}
	}
	return g.drop(gone, "DELETE FROM segments WHERE id = ?", "DELETE FROM dead WHERE segment = ?")
}

func (g *sweep) sweepRecipes() error {
	var gone []string
	err := g.c.each("SELECT fingerprint FROM recipes", nil, func(rows *sql.Rows) error {
		var fp string
		err := rows.Scan(&fp)
		if !g.recipes[store.Fingerprint(fp)] {
			gone = append(gone, fp)
		}
		return err
	})
	for _, fp := range gone {
		err = firstError(err, g.c.exec("DELETE FROM recipes WHERE fingerprint = ?", fp))
	}
	if err != nil {
		return fmt.Errorf("sweep recipes: %w", err)
	}
	return nil
}
