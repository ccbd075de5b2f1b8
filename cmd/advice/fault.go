package advice

import (
	"encoding/json"
	"errors"

	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/store"
)

// EncodeFault writes an error of a look at a tree for another process, nil for one that has
// no code.
func EncodeFault(id store.CodebaseID, err error) json.RawMessage {
	var known *tool.Error
	if !errors.As(RootCode(id, err), &known) {
		return nil
	}
	data, err := json.Marshal(known)
	if err != nil {
		return nil
	}
	return data
}

// DecodeFault reads what EncodeFault wrote.
func DecodeFault(data json.RawMessage) error {
	var known tool.Error
	if err := json.Unmarshal(data, &known); err != nil {
		return err
	}
	return &known
}
