package mcpserver

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/freshet/freshet/mcp/tool"
)

// Reference is the documentation of the tools, in Markdown, made from the structs of their
// parameters. It is the same for the same binary.
func Reference() (string, error) {
	size, err := ListingSize()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# Tools\n\nMade by `freshet docs` from the parameters in package `mcp/tool`; do not edit. "+
		"The answer to tools/list has %d characters, of at most %d.\n", size, MaxListing)
	for _, t := range tool.Tools() {
		schema, err := inputSchema(t)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n", t.Name, t.Description)
		fmt.Fprintf(&b, "read-only: %s, destructive: %s, idempotent: %s, open world: %s. %s\n\n",
			word(t.Annotations.ReadOnly), word(t.Annotations.Destructive), word(t.Annotations.Idempotent),
			word(t.Annotations.OpenWorld), t.Annotations.Reason)
		b.WriteString("| argument | type | meaning |\n|---|---|---|\n")
		for _, name := range argumentNames(schema) {
			property := schema.Properties[name]
			needed := ""
			if slices.Contains(schema.Required, name) {
				needed = ", needed"
			}
			fmt.Fprintf(&b, "| `%s` | %s%s | %s |\n", name, typeName(property), needed, cell(property.Description))
		}
	}
	writeAnswers(&b)
	fmt.Fprintf(&b, "\n## Instructions\n\nWhat the server tells a client when it connects:\n\n")
	for line := range strings.Lines(Instructions()) {
		b.WriteString(strings.TrimRight("> "+line, " \n") + "\n")
	}
	return b.String(), nil
}

// writeAnswers documents what the tools have in common: the members of an item by
// verbosity, and the codes of errors.
func writeAnswers(b *strings.Builder) {
	b.WriteString("\n## Answers\n\nA verbosity shows of each item what stands at it or before it in this table. " +
		"The items and their order are the same at each.\n\n| member | from verbosity | meaning |\n|---|---|---|\n")
	for _, field := range tool.HitFields() {
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", field.Name, field.Since, cell(field.Meaning))
	}
	b.WriteString("\nThe verdict of an answer counts as `linked_files` the files that have several hard links. Each check looks at their stat, " +
		"because a write through a link outside the tree has no event; a store through a shared memory map there may change " +
		"no timestamp either, and is found by `freshet verify`.\n")
	b.WriteString("\nAn error has one of the codes")
	for i, code := range tool.Codes() {
		separator := ","
		if i == 0 {
			separator = ""
		}
		fmt.Fprintf(b, "%s `%s`", separator, code)
	}
	b.WriteString("; its next steps name a tool with its arguments.\n")
}

// argumentNames are the members of a schema in the order in which they are declared.
func argumentNames(schema *jsonschema.Schema) []string {
	if len(schema.PropertyOrder) == len(schema.Properties) {
		return schema.PropertyOrder
	}
	var names []string
	for name := range schema.Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func typeName(s *jsonschema.Schema) string {
	if s.Type == "array" && s.Items != nil {
		return "list of " + typeName(s.Items)
	}
	return s.Type
}

func word(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

// cell writes a text into a cell of a table.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ").Replace(text)
}
