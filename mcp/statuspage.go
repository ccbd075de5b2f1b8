package mcpserver

import (
	"bytes"
	"html/template"
	"net/http"
	"time"

	"github.com/freshet/freshet/mcp/tool"
)

// pageText is the template of the status page. It loads no resources and runs no scripts.
const pageText = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>freshet</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 60em; padding: 0 1em; color: #222; background: #fff }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; padding: .3em .8em .3em 0; border-bottom: 1px solid #ddd }
td.n { text-align: right; font-variant-numeric: tabular-nums }
@media (prefers-color-scheme: dark) { body { color: #ddd; background: #181818 } th, td { border-color: #444 } }
</style>
</head>
<body>
<h1>freshet</h1>
<p>{{.Version}}, up for {{.Uptime}}, {{.InFlight}} calls under way.</p>
{{with .Problem}}<p><strong>{{.}}</strong></p>{{end}}
{{if .Private}}<table>
<tr><th>codebase</th><th>root</th><th>state</th><th>snapshot</th><th>files</th><th>parked</th><th>work</th></tr>
{{range .Codebases}}<tr><td>{{.Codebase.Name}}</td><td>{{.Codebase.Root}}</td><td>{{.State}}</td>
<td class="n">{{.Freshness.Snapshot}}</td><td class="n">{{.Counts.Files}}</td><td class="n">{{len .Parked}}</td>
<td>{{with .Operation}}{{.Kind}}: {{.Phase}}{{end}}</td></tr>
{{else}}<tr><td colspan="7">nothing is indexed yet</td></tr>
{{end}}</table>{{end}}
<p>Agents connect to <code>/mcp</code>; figures for Prometheus are at <a href="/metrics">/metrics</a>.</p>
</body>
</html>
`

// page serves the status page. Without a token it shows no codebases, since any user of the
// machine may read it.
func (s *Server) page(w http.ResponseWriter, r *http.Request, private bool, started time.Time) {
	data := struct {
		Version, Uptime, Problem string
		InFlight                 int
		Private                  bool
		Codebases                []tool.CodebaseStatus
	}{
		Version: s.opts.Version, Uptime: s.opts.Now().Sub(started).Round(time.Second).String(),
		InFlight: s.limit.inFlight(), Private: private,
	}
	if private {
		envelope, err := s.caller.Call(r.Context(), "status", tool.StatusParams{}, nil)
		switch {
		case err != nil:
			data.Problem = "the index cannot be reached"
		case envelope.Error != nil:
			data.Problem = string(envelope.Error.Code)
		case envelope.Codebases != nil:
			data.Codebases = *envelope.Codebases
		}
	}
	var out bytes.Buffer
	if err := template.Must(template.New("page").Parse(pageText)).Execute(&out, data); err != nil {
		s.opts.Log.Warn("status page could not be made", "error", err)
		http.Error(w, "the page could not be made", http.StatusInternalServerError)
		return
	}
	pageHeaders(w)
	_, _ = w.Write(out.Bytes())
}
