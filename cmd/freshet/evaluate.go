package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/freshet/freshet/cmd/cli"
	"github.com/freshet/freshet/cmd/eval"
	"github.com/freshet/freshet/cmd/scratch"
)

// evaluator runs evaluations in a workshop of its own.
type evaluator struct {
	// children is the command of a parser child.
	children []string
}

func (v evaluator) run(ctx context.Context, e cli.Evaluation) (err error) {
	dir, err := os.MkdirTemp("", "freshet-eval-")
	if err != nil {
		return fmt.Errorf("make a folder for the indexes: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	shop, err := scratch.NewWorkshop(dir, v.children, e.Log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, shop.Close()) }()
	report, err := eval.Run(ctx, workshop{shop}, eval.Options{
		Queries: e.Queries, Repos: e.Repos, Ablations: e.Ablations, Progress: e.Progress,
	})
	if err != nil {
		return err
	}
	if e.Results != "" {
		if err := writeFile(e.Results, report.WriteResults); err != nil {
			return err
		}
	}
	if !e.JSON {
		return report.WriteText(e.Out)
	}
	encoder := json.NewEncoder(e.Out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(report)
}

func writeFile(name string, write func(io.Writer) error) error {
	f, err := os.Create(name)
	if err != nil {
		return fmt.Errorf("write results: %w", err)
	}
	return errors.Join(write(f), f.Close())
}

// workshop is the scratch.Workshop as package eval wants it.
type workshop struct{ *scratch.Workshop }

func (w workshop) Index(ctx context.Context, root string) (eval.Index, error) {
	return w.Workshop.Index(ctx, root)
}
