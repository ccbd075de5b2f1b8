package main

import (
	"bytes"
	"encoding/json"
	"io"
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"
)

// commands are what scripts can do beside running freshet.
func commands() map[string]func(ts *testscript.TestScript, neg bool, args []string) {
	return map[string]func(ts *testscript.TestScript, neg bool, args []string){
		"exits":   exits,
		"onejson": onejson,
	}
}

// exits runs freshet with --json among its arguments and expects an exit code, and one
// JSON value on stdout.
func exits(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: exits code args...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec("freshet", args[1:]...)
	got := 0
	if err != nil {
		coded, ok := err.(interface{ ExitCode() int })
		if !ok {
			ts.Fatalf("freshet: %v", err)
		}
		got = coded.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
	onejson(ts, false, nil)
}

// onejson expects that the last stdout is exactly one JSON value.
func onejson(ts *testscript.TestScript, _ bool, _ []string) {
	decoder := json.NewDecoder(bytes.NewReader([]byte(ts.ReadFile("stdout"))))
	var value json.RawMessage
	if err := decoder.Decode(&value); err != nil {
		ts.Fatalf("stdout is not JSON: %v", err)
	}
	if err := decoder.Decode(&value); err != io.EOF {
		ts.Fatalf("stdout has more than one JSON value")
	}
}
