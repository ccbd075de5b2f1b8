package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/freshet/freshet/store/search"
)

// correct says what the wrong argument of a tool takes, and offers the call with it set
// right: as the caller must have meant it, or without it where it may be left out.
func (c *call) correct(ctx context.Context, e *Error) {
	field, _ := e.Details["field"].(string)
	if c.tool == ToolRead && field == "path" {
		field = "targets"
	}
	taken := describedArguments(c.tool)
	about, known := taken[field]
	switch {
	case known:
		e.Message += "; it takes " + about.takes
	case field != "":
		e.Message += "; " + c.tool + " takes " + strings.Join(slices.Sorted(maps.Keys(taken)), ", ")
	}
	for _, step := range c.corrected(ctx, e, field, !known || about.optional) {
		if c.offers(step) {
			e.NextSteps = append(e.NextSteps, step)
		}
	}
}

// offers reports whether a step is a call that is taken, and not the one that failed.
func (c *call) offers(s NextStep) bool {
	if s.Tool == c.tool && compact(s.Arguments) == compact(c.repeat) {
		return false
	}
	at := slices.IndexFunc(Tools(), func(t Tool) bool { return t.Name == s.Tool })
	if at < 0 {
		return true
	}
	raw := json.RawMessage(compact(s.Arguments))
	params := Tools()[at].NewParams()
	return checkArguments(raw, reflect.TypeOf(params).Elem()) == nil && json.Unmarshal(raw, params) == nil
}

// corrected are the calls that an invalid argument leads to, the likeliest first.
func (c *call) corrected(ctx context.Context, e *Error, field string, optional bool) []NextStep {
	if len(e.NextSteps) > 0 {
		return nil
	}
	switch {
	case field == "from" || field == "to" || field == "at" || field == "number":
		return []NextStep{c.look(ListHistory, "lists the numbers of the retained snapshots")}
	case c.tool == ToolManage && field == "path":
		return c.otherDirectory(ctx)
	}
	if meant, ok := c.meant(e, field); ok {
		return []NextStep{c.again(map[string]any{field: meant}, "has "+field+" as it must be")}
	}
	if c.tool == ToolSearch && field == "query" {
		return c.otherQuery()
	}
	_, given := c.repeat[field]
	switch {
	case given && optional:
		step := c.again(nil, "leaves "+field+" out")
		delete(step.Arguments, field)
		return []NextStep{step}
	case (c.tool == ToolRead || c.tool == ToolList) && c.env.Codebase.ID != "":
		return []NextStep{c.look(ListOverview, "shows what there is")}
	}
	return nil
}

// meant is the value that a wrong one must have been meant to be: the only allowed word that
// is like it, or the same value in the type that the argument has.
func (c *call) meant(e *Error, field string) (any, bool) {
	given, ok := c.repeat[field]
	if !ok {
		return nil, false
	}
	if word, ok := given.(string); ok {
		if like := alike(word, words(e.Details["allowed"])); len(like) == 1 {
			return like[0], true
		}
	}
	fields := argumentFields(c.tool)
	if t, ok := fields[field]; ok {
		return coerced(given, t)
	}
	return nil, false
}

// otherQuery are searches for what a query that its mode cannot take says.
func (c *call) otherQuery() []NextStep {
	text, _ := c.repeat["query"].(string)
	if strings.TrimSpace(text) == "" || len(text) > search.MaxPatternBytes/2 {
		return nil
	}
	switch mode, _ := c.repeat["mode"].(string); search.Mode(mode) {
	case search.ModeRegex:
		return []NextStep{c.again(map[string]any{"mode": string(search.ModeExact)}, "looks for the text itself, every sign of it taken as it stands")}
	case search.ModePath:
		return []NextStep{c.again(map[string]any{"mode": string(search.ModeText)}, "looks for the words inside the files")}
	}
	return nil
}

// otherDirectory are the calls that manage_index may have meant by a path that it does not
// take: those on the codebase there, or on directories that can be registered.
func (c *call) otherDirectory(ctx context.Context) []NextStep {
	all, err := c.Catalog.Codebases(ctx)
	if err != nil {
		return nil
	}
	path, _ := c.repeat["path"].(string)
	if action, _ := c.repeat["action"].(string); action != ActionCreate {
		if b, err := containing(all, path); err == nil {
			step := c.again(map[string]any{"codebase": string(b.ID)}, "names the codebase there")
			delete(step.Arguments, "path")
			return []NextStep{step}
		}
		return []NextStep{listStep("shows every codebase with its id")}
	}
	var steps []NextStep
	for _, dir := range c.registrable(ctx, all, c.scope, append(slices.Clone(c.scope.ClientRoots), c.scope.CWD)) {
		steps = append(steps, createStep(dir))
	}
	if len(all) > 0 {
		steps = append(steps, listStep("shows every codebase that is registered"))
	}
	return steps
}

// alike are the words that differ from a given one in at most two letters, and in less than
// half of them.
func alike(given string, allowed []string) []string {
	given = strings.ToLower(strings.TrimSpace(given))
	return slices.DeleteFunc(slices.Clone(allowed), func(word string) bool {
		far := EditDistance(given, strings.ToLower(word))
		return far > 2 || 2*far >= len(word)
	})
}

// EditDistance is the Levenshtein distance of two words, in bytes.
func EditDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			before, row[j+1] = row[j+1], min(before+cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// coerced is a value of JSON in another type: a word for a list of one, a number or a truth
// value that was written as a word.
func coerced(value any, t reflect.Type) (any, bool) {
	word, isWord := value.(string)
	list, isList := value.([]any)
	switch t.Kind() {
	case reflect.Slice:
		if isWord && word != "" {
			return []string{word}, true
		}
	case reflect.String:
		if isList && len(list) == 1 {
			word, isWord = list[0].(string)
			return word, isWord
		}
		if n, ok := value.(float64); ok {
			return strconv.FormatFloat(n, 'f', -1, 64), true
		}
	case reflect.Int, reflect.Uint64:
		if n, err := strconv.ParseUint(strings.TrimSpace(word), 10, 31); isWord && err == nil {
			return n, true
		}
	case reflect.Bool:
		if b, err := strconv.ParseBool(word); isWord && err == nil {
			return b, true
		}
	}
	return nil, false
}

// wrongType names the first argument that is not of its type.
func wrongType(raw json.RawMessage, t reflect.Type) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return Invalid("arguments", "must be one JSON object")
	}
	fields := fieldsOf(t)
	for _, name := range slices.Sorted(maps.Keys(members)) {
		field, ok := fields[name]
		if !ok {
			continue
		}
		if err := json.Unmarshal(members[name], reflect.New(field).Interface()); err != nil {
			return Invalid(name, fmt.Sprintf("must be %s, and is %s", typeWords(field), clip(string(members[name]))))
		}
	}
	return Invalid("arguments", "are not what the call takes")
}

func typeWords(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Slice:
		if t.Elem().Kind() == reflect.String {
			return "a list of strings"
		}
		return "a list of numbers"
	case reflect.Bool:
		return "true or false"
	case reflect.Uint64:
		return "a whole number from 0 up"
	case reflect.Int:
		return "a whole number"
	}
	return "a string"
}

// argument is what a schema says of one.
type argument struct {
	takes    string
	optional bool
}

// describedArguments are those that a client may give a tool.
func describedArguments(name string) map[string]argument {
	at := slices.IndexFunc(Tools(), func(t Tool) bool { return t.Name == name })
	all := map[string]argument{}
	for _, field := range reflect.VisibleFields(reflect.TypeOf(Tools()[at].NewParams()).Elem()) {
		if named, options, _ := strings.Cut(field.Tag.Get("json"), ","); named != "" {
			all[named] = argument{field.Tag.Get("jsonschema"), options == "omitempty"}
		}
	}
	return all
}

// argumentFields are the types of a tool's arguments by their names.
func argumentFields(name string) map[string]reflect.Type {
	at := slices.IndexFunc(Tools(), func(t Tool) bool { return t.Name == name })
	return fieldsOf(reflect.TypeOf(Tools()[at].NewParams()).Elem())
}
