package mcpserver

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/store/secret"
)

// record is the telemetry line of a call. It contains no source text and no path, and the
// query only if Options.QueryText is set.
type record struct {
	Time      time.Time `json:"time"`
	Tool      string    `json:"tool"`
	LatencyMs float64   `json:"latency_ms"`
	CheckMs   int64     `json:"check_ms"`
	Freshness string    `json:"freshness"`
	Snapshot  uint64    `json:"snapshot"`
	Results   int       `json:"results"`
	// Excluded counts the paths that the ignore rules keep out of what was searched; an
	// ignored directory counts once.
	Excluded  int       `json:"excluded"`
	Tokens    int       `json:"tokens"`
	Truncated bool      `json:"truncated"`
	Error     tool.Code `json:"error,omitempty"`
	// Warnings are the codes of the answer's warnings.
	Warnings  []string `json:"warnings,omitempty"`
	QueryHash string   `json:"query_hash,omitempty"`
	Query     string   `json:"query,omitempty"`
}

// report writes the telemetry line of a call and counts it.
func (s *Server) report(req *mcp.CallToolRequest, e *tool.Envelope, text string, took time.Duration) {
	line := record{
		Time: s.opts.Now().UTC(), Tool: req.Params.Name, LatencyMs: float64(took.Microseconds()) / 1000,
		CheckMs: e.Freshness.CheckMs, Excluded: e.Freshness.Ignored, Freshness: string(e.Freshness.State), Snapshot: e.Freshness.Snapshot,
		Results: e.ReturnedCount, Tokens: (len(text) + 3) / 4, Truncated: e.Truncated,
	}
	if e.Error != nil {
		line.Error = e.Error.Code
	}
	for _, w := range e.Warnings {
		line.Warnings = append(line.Warnings, w.Code)
	}
	s.metrics.observe(line, took)
	if s.opts.Telemetry == nil {
		return
	}
	var asked struct {
		Query string `json:"query"`
	}
	if json.Unmarshal(req.Params.Arguments, &asked) == nil && asked.Query != "" {
		sum := sha256.Sum256([]byte(asked.Query))
		line.QueryHash = hex.EncodeToString(sum[:8])
		if s.opts.QueryText {
			line.Query, _ = secret.MaskText(asked.Query)
		}
	}
	data, err := json.Marshal(line)
	if err != nil {
		s.opts.Log.Warn("telemetry line not written", "error", err)
		return
	}
	s.telemetry.Lock()
	defer s.telemetry.Unlock()
	if _, err := tool.LogWriter(s.opts.Telemetry).Write(append(data, '\n')); err != nil {
		s.opts.Log.Debug("telemetry line not written", "error", err)
	}
}
