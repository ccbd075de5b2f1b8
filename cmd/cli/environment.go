package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/freshet/freshet/mcp/tool"
)

// Variables are the names of the environment variables of freshet, in the order of README.md.
// The last ones are read by docker-compose.yml.
func Variables() []string {
	return []string{
		"FRESHET_HOME", "FRESHET_LOG", "FRESHET_TOKEN", "FRESHET_ALLOW_ROOT",
		"FRESHET_NATS_URL", "FRESHET_NATS_CREDS", "FRESHET_NATS_NKEY", "FRESHET_NATS_CA", "FRESHET_NATS_CERT",
		"FRESHET_NATS_KEY", "FRESHET_NATS_REPLICAS", "FRESHET_DATABASE_URL", "FRESHET_DATABASE_ROLE",
		"FRESHET_TENANT", "FRESHET_PLACE",
		"FRESHET_EMBEDDER", "FRESHET_EMBEDDER_URL", "FRESHET_EMBEDDER_MODEL", "FRESHET_EMBEDDER_KEY",
		"FRESHET_EMBEDDER_DIMENSION", "FRESHET_EMBEDDER_QUERY_PREFIX", "FRESHET_EMBEDDER_DOCUMENT_PREFIX",
		"FRESHET_EMBEDDER_CONCURRENCY",
		"FRESHET_RERANKER", "FRESHET_RERANKER_URL", "FRESHET_RERANKER_MODEL", "FRESHET_RERANKER_KEY",
		"FRESHET_RERANKER_POLICY", "FRESHET_RERANKER_TIMEOUT_MS",
		"FRESHET_UID", "FRESHET_GID", "FRESHET_TREE",
	}
}

// testVariables begin the names of variables that tests and benchmarks read.
func testVariables() []string { return []string{"FRESHET_TEST_", "FRESHET_BENCH_"} }

// unknownVariables returns, sorted, the names in an environment that begin as those of
// freshet do and that nothing reads.
func unknownVariables(environment []string) []string {
	var unknown []string
	for _, setting := range environment {
		name, _, _ := strings.Cut(setting, "=")
		ofTests := slices.ContainsFunc(testVariables(), func(prefix string) bool { return strings.HasPrefix(name, prefix) })
		if strings.HasPrefix(strings.ToUpper(name), "FRESHET_") && !ofTests && !slices.Contains(Variables(), name) {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	return slices.Compact(unknown)
}

// nearestVariable is the variable whose name takes the fewest edits to get from name.
func nearestVariable(name string) string {
	return slices.MinFunc(Variables(), func(a, b string) int {
		return tool.EditDistance(strings.ToUpper(name), a) - tool.EditDistance(strings.ToUpper(name), b)
	})
}

// examineEnvironment says for doctor which variables are set that nothing reads, and whether
// the setting of the log is one.
func (r *run) examineEnvironment() []tool.Finding {
	var findings []tool.Finding
	if _, err := parseLogSetting(r.LogSetting); err != nil {
		findings = append(findings, tool.Finding{
			Check: "environment", Grade: tool.GradeBad, Detail: fmt.Sprintf("FRESHET_LOG: %v", err), Advice: "correct it or unset it: no verb that logs runs before",
		})
	}
	for _, name := range unknownVariables(r.Environment) {
		findings = append(findings, tool.Finding{
			Check: "environment", Grade: tool.GradePoor, Detail: tool.QuotePath(name) + " is set and nothing reads it",
			Advice: "unset it; the nearest variable of freshet is " + nearestVariable(name),
		})
	}
	return findings
}
