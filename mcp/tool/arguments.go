package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
)

// Bounds of arguments: of a path, a target or any other text, of a query, and of how many
// values a list has.
const (
	maxArgument = 4096
	maxQuery    = 16 << 10
	maxValues   = 1000
)

// clipped is how much of what a caller wrote an error repeats.
const clipped = 200

// clip shortens text that a caller wrote.
func clip(text string) string {
	if len(text) <= clipped {
		return text
	}
	return strings.ToValidUTF8(text[:clipped], "") + fmt.Sprintf("… (%d bytes)", len(text))
}

// checkArguments refuses parameters whose names are not exactly those of a struct, or given
// twice, and values beyond the bounds. The decoder of the standard library folds names by
// case and takes the last of two.
func checkArguments(raw json.RawMessage, t reflect.Type) error {
	known := fieldsOf(t)
	if string(bytes.TrimSpace(raw)) == "null" {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	opening, err := decoder.Token()
	if err != nil || opening != json.Delim('{') {
		return Invalid("arguments", "must be one JSON object")
	}
	seen := map[string]bool{}
	for decoder.More() {
		token, err := decoder.Token()
		name, _ := token.(string)
		switch {
		case err != nil:
			return Invalid("arguments", "are not JSON: "+clip(err.Error()))
		case known[name] == nil:
			return Invalid(clip(name), "unknown argument")
		case seen[name]:
			return Invalid(name, "is given twice")
		}
		seen[name] = true
		var value any
		if err := decoder.Decode(&value); err != nil {
			return Invalid(name, "is not JSON: "+clip(err.Error()))
		}
		if err := checkArgument(name, value); err != nil {
			return err
		}
	}
	if _, err := decoder.Token(); err != nil {
		return Invalid("arguments", "are not JSON: "+clip(err.Error()))
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return Invalid("arguments", "must be one JSON object")
	}
	return nil
}

// checkArgument refuses a value that is too long.
func checkArgument(name string, value any) error {
	most := maxArgument
	if name == "query" {
		most = maxQuery
	}
	switch v := value.(type) {
	case string:
		if len(v) > most {
			return Invalid(name, fmt.Sprintf("has %d bytes, of at most %d", len(v), most))
		}
	case []any:
		if len(v) > maxValues {
			return Invalid(name, fmt.Sprintf("has %d values, of at most %d", len(v), maxValues))
		}
		for _, one := range v {
			if err := checkArgument(name, one); err != nil {
				return err
			}
		}
	}
	return nil
}

// mustRequire labels an answer about an index of another recipe than the one in force.
func (c *call) mustRequire() error {
	if len(c.env.Freshness.Requires) == 0 {
		return nil
	}
	c.warn(string(CodeRequiresReindex), "the index is of another recipe: "+fieldList(c.env.Freshness.Requires))
	step := manageStep(ActionReindex, string(c.env.Codebase.ID), "rebuilds the index under the recipe in force")
	if !slices.ContainsFunc(c.env.NextSteps, func(s NextStep) bool { return s.Tool == ToolManage }) {
		c.env.NextSteps = append(c.env.NextSteps, step)
	}
	return nil
}

func fieldsOf(t reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for _, field := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" && name != "-" && !field.Anonymous {
			fields[name] = field.Type
		}
	}
	return fields
}
