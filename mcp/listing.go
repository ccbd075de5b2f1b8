package mcpserver

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/freshet/freshet/mcp/tool"
)

// listing returns the answer to tools/list, in the order of tool.Tools.
func listing(structured bool) ([]*mcp.Tool, error) {
	var listed []*mcp.Tool
	for _, t := range tool.Tools() {
		input, err := inputSchema(t)
		if err != nil {
			return nil, err
		}
		described := &mcp.Tool{
			Name: t.Name, Title: t.Title, Description: t.Description, InputSchema: input,
			Annotations: &mcp.ToolAnnotations{
				Title: t.Title, ReadOnlyHint: t.Annotations.ReadOnly, IdempotentHint: t.Annotations.Idempotent,
				DestructiveHint: &t.Annotations.Destructive, OpenWorldHint: &t.Annotations.OpenWorld,
			},
		}
		if structured {
			described.OutputSchema = outputSchema()
		}
		listed = append(listed, described)
	}
	return listed, nil
}

// ListingSize returns the size of the answer to tools/list in characters. Clients add it to
// the context of every conversation.
func ListingSize() (int, error) {
	listed, err := listing(false)
	if err != nil {
		return 0, err
	}
	data, err := json.Marshal(mcp.ListToolsResult{Tools: listed})
	return len([]rune(string(data))), err
}

// MaxListing bounds the answer to tools/list in characters.
const MaxListing = 14000

// inputSchema infers the schema of a tool's parameters from their struct.
func inputSchema(t tool.Tool) (*jsonschema.Schema, error) {
	schema, err := jsonschema.ForType(reflect.TypeOf(t.NewParams()).Elem(), &jsonschema.ForOptions{})
	if err != nil {
		return nil, fmt.Errorf("schema of %s: %w", t.Name, err)
	}
	settle(schema)
	return schema, nil
}

// settle removes null from the types of lists and pointers, where inference allows it.
func settle(s *jsonschema.Schema) {
	if types := slices.DeleteFunc(slices.Clone(s.Types), func(name string) bool { return name == "null" }); len(types) == 1 {
		s.Type, s.Types = types[0], nil
	}
	for _, property := range s.Properties {
		settle(property)
	}
	if s.Items != nil {
		settle(s.Items)
	}
}

// outputSchema returns the schema of the envelope: its members and their types, one level
// deep.
func outputSchema() *jsonschema.Schema {
	schema := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{}}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[tool.Envelope]()) {
		name, rest, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.Anonymous || name == "" || name == "-" {
			continue
		}
		schema.Properties[name] = &jsonschema.Schema{Type: jsonType(field.Type)}
		if rest == "" && len(field.Index) == 1 {
			schema.Required = append(schema.Required, name)
		}
	}
	return schema
}

func jsonType(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return jsonType(t.Elem())
	case reflect.Slice, reflect.Array:
		return "array"
	case reflect.Bool:
		return "boolean"
	case reflect.String:
		return "string"
	case reflect.Int, reflect.Int64, reflect.Uint64:
		return "integer"
	}
	return "object"
}
