package socket

import (
	"encoding/json"

	"github.com/freshet/freshet/mcp/tool"
)

// Protocol is the version of what crosses the socket. A client of another version is told
// so and does nothing.
const Protocol = 2

// request is the one message of a client. The connection is the call: closing it cancels.
type request struct {
	Protocol int             `json:"protocol"`
	Version  string          `json:"version"` // of the client's binary, for people
	Verb     string          `json:"verb"`
	Params   json.RawMessage `json:"params,omitempty"`
}

// reply is one message of the host: any number of notices and signs of life, then the
// envelope or a refusal.
type reply struct {
	// Alive is a sign of life.
	Alive    bool           `json:"alive,omitempty"`
	Notice   *tool.Notice   `json:"notice,omitempty"`
	Envelope *tool.Envelope `json:"envelope,omitempty"`
	// Refused says why the call was not taken; Takeover that the host is ending, so that
	// the client may become the host and call again.
	Refused  string `json:"refused,omitempty"`
	Takeover bool   `json:"takeover,omitempty"`
}

// maxFrame bounds one message in either direction.
const maxFrame = 64 << 20
