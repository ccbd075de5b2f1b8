package eval_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/freshet/freshet/cmd/eval"
	"github.com/freshet/freshet/cmd/scratch"
	"github.com/freshet/freshet/pipeline/chunk"
)

// asChild is the argument of this binary as a parsing child.
const asChild = "chunk-child-of-test"

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == asChild {
		if err := chunk.ServeChild(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

var update = flag.Bool("update", false, "write testdata/eval/baseline.json anew")

// shop is a scratch.Workshop as package eval wants it.
type shop struct{ *scratch.Workshop }

func (s shop) Index(ctx context.Context, root string) (eval.Index, error) {
	return s.Workshop.Index(ctx, root)
}

func evaluate(t *testing.T, queries, repos string, ablations bool) *eval.Report {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	w, err := scratch.NewWorkshop(t.TempDir(), []string{self, asChild}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}()
	report, err := eval.Run(t.Context(), shop{w}, eval.Options{Queries: queries, Repos: repos, Ablations: ablations})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// regression is how much the score may fall below the committed one.
const regression = 0.01

// TestOwnQueries asks this project's code the queries of testdata/eval. A change of the
// code moves the score a little; a loss of more than the gate is looked at, and the
// baseline is written anew with -update when it is right.
func TestOwnQueries(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	repos := t.TempDir()
	if err := os.Symlink(root, filepath.Join(repos, "freshet")); err != nil {
		t.Fatal(err)
	}
	queries := filepath.Join(root, "testdata", "eval")
	got := evaluate(t, queries, repos, false).Overall()[0]
	t.Logf("NDCG@10 %.4f, hit@1 %.3f, recall@10 %.3f", got.NDCG, got.Hit1, got.Recall)
	file := filepath.Join(queries, "baseline.json")
	if *update {
		data, err := json.MarshalIndent(got, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, append(data, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var want eval.Row
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	if got.NDCG < want.NDCG-regression {
		t.Errorf("NDCG@10 fell from %.4f to %.4f", want.NDCG, got.NDCG)
	}
}
