package doctor

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/freshet/freshet/cmd/cluster"
	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/pipeline/bus/natsbus"
	"github.com/freshet/freshet/pipeline/bus/natsserver/clustertest"
	"github.com/freshet/freshet/pipeline/event"
	"github.com/freshet/freshet/store/pgstore"
	"github.com/freshet/freshet/store/pgstore/pgtest"
)

// graded returns the findings of a check with a grade.
func graded(findings []tool.Finding, check string, grade tool.Grade) string {
	var details []string
	for _, f := range findings {
		if f.Check == check && f.Grade == grade {
			details = append(details, f.Detail+"\n"+f.Advice)
		}
	}
	return strings.Join(details, "\n")
}

// withPassword gives a URL a user, as far as it has none, and a password.
func withPassword(t *testing.T, address, password string) string {
	t.Helper()
	u, err := url.Parse(address)
	check(t, err)
	name := "someone"
	if u.User != nil {
		name = u.User.Username()
	}
	u.User = url.UserPassword(name, password)
	return u.String()
}

// TestDiagnoseCluster examines a cluster before its first use, in use, and in every state
// in which something is wrong. No finding tells a password.
func TestDiagnoseCluster(t *testing.T) {
	t.Parallel()
	const secret = "hushhush"
	database := withPassword(t, pgtest.Database(t), secret)
	nodes := clustertest.Start(t, 3)
	settings := cluster.Settings{Database: database, Role: "freshet_test_app", Place: "here"}
	for i, address := range strings.Split(nodes.URL(), ",") {
		settings.NATS += map[bool]string{true: ",", false: ""}[i > 0] + withPassword(t, address, secret)
	}
	opts := Options{Home: t.TempDir(), Cluster: settings}.withDefaults()
	diagnose := func(o Options) []tool.Finding {
		findings := diagnoseCluster(t.Context(), o, 256)
		for _, f := range findings {
			if strings.Contains(fmt.Sprint(f), secret) {
				t.Errorf("a password is told: %+v", f)
			}
			if f.Grade != tool.GradeGood && f.Advice == "" {
				t.Errorf("no advice: %+v", f)
			}
		}
		return findings
	}
	wholesome := func(when string, findings []tool.Finding) {
		for _, f := range findings {
			late := strings.Contains(f.Advice, "nearer to the server") // a server of a busy machine
			if f.Grade == tool.GradeBad || f.Grade == tool.GradePoor && f.Check != "pgvector" && f.Check != "role" && !late {
				t.Errorf("%s: %+v", when, f)
			}
		}
		if got := graded(findings, "nats", tool.GradeGood) + graded(findings, "nats", tool.GradePoor); strings.Count(got, " away") != 3 {
			t.Errorf("%s: servers %q", when, got)
		}
	}
	wholesome("before the first use", diagnose(opts))
	parts, err := cluster.Open(t.Context(), settings, cluster.Options{})
	check(t, err)
	check(t, parts.Close())
	findings := diagnose(opts)
	// Replicas of a new stream may be behind for a moment.
	for deadline := time.Now().Add(5 * time.Minute); graded(findings, "stream", tool.GradePoor) != "" && time.Now().Before(deadline); {
		findings = diagnose(opts)
	}
	wholesome("in use", findings)
	if got := graded(findings, "stream", tool.GradeGood); strings.Count(got, "3 replicas") != 2 {
		t.Errorf("streams: %q", got)
	}

	ahead := opts
	ahead.Now = func() time.Time { return time.Now().Add(-time.Minute) }
	told := regexp.MustCompile(`(NATS|PostgreSQL)'s clock is (59|60|61)\.\d s ahead`) // of a busy machine the answer is late
	if got := graded(diagnose(ahead), "clock", tool.GradePoor); len(told.FindAllString(got, -1)) != 2 {
		t.Errorf("clocks: %q", got)
	}
	fewer := opts
	fewer.Cluster.Replicas = "1"
	if got := graded(diagnose(fewer), "stream", tool.GradeBad); !strings.Contains(got, "freshet-default has another setting than freshet's: replicas 3 instead of 1") {
		t.Errorf("replicas: %q", got)
	}
	nodes.Stop(2)
	if got := graded(diagnose(opts), "nats", tool.GradePoor); !strings.Contains(got, "cannot be reached") || !strings.Contains(got, "works without it") {
		t.Errorf("a server away: %q", got)
	}
	nodes.Stop(1)
	nodes.Stop(0)
	gone := opts
	gone.Cluster.Database = "postgres://someone:" + secret + "@127.0.0.1:1/nothing?sslmode=disable"
	findings = diagnose(gone)
	if got := graded(findings, "nats", tool.GradeBad); strings.Count(got, "cannot be reached") != 3 {
		t.Errorf("all servers away: %q", got)
	}
	if graded(findings, "stream", tool.GradeBad) == "" || graded(findings, "database", tool.GradeBad) == "" {
		t.Errorf("all away: %+v", findings)
	}
}

// TestDiagnoseClusterSettings: settings that are no cluster's are named before anything is
// asked, and a machine alone has none.
func TestDiagnoseClusterSettings(t *testing.T) {
	t.Parallel()
	if got := diagnoseCluster(t.Context(), Options{}, 256); len(got) != 0 {
		t.Errorf("alone: %+v", got)
	}
	for name, s := range map[string]cluster.Settings{
		"half":     {NATS: "nats://127.0.0.1:1"},
		"both":     {NATS: "nats://127.0.0.1:1", Database: "postgres://x", Place: "p", Credentials: "a", NKey: "b"},
		"replicas": {NATS: "nats://127.0.0.1:1", Database: "postgres://x", Place: "p", Replicas: "2"},
	} {
		if got := diagnoseCluster(t.Context(), Options{Cluster: s}, 256); len(got) != 1 || got[0].Grade != tool.GradeBad {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestGrades: what cannot be provoked here is graded from a survey that says it.
func TestGrades(t *testing.T) {
	t.Parallel()
	sound := func() pgstore.Survey {
		return pgstore.Survey{
			Version: 170002, Release: "17.2", Vector: "0.8.4", Schema: 2, Known: 2, MaxConnections: 100,
			Role: pgstore.RoleSurvey{Name: "app"},
		}
	}
	now := time.Unix(1_000_000, 0)
	waiting := func(since time.Duration) func(*pgstore.Survey) {
		return func(s *pgstore.Survey) {
			data, err := event.Encode(event.SealedAt(event.Event{Codebase: "ca", Snapshot: 1, Fingerprint: "f", At: now.Add(-since)}, event.Sealed{Level: "full"}))
			check(t, err)
			s.Unpublished, s.Oldest = 3, data
		}
	}
	cases := []struct {
		name   string
		change func(*pgstore.Survey)
		check  string
		grade  tool.Grade
		want   string
	}{
		{"sound", func(*pgstore.Survey) {}, "pgvector", tool.GradeGood, "0.8.4"},
		{"an old server", func(s *pgstore.Survey) { s.Version = 120001 }, "database", tool.GradeBad, "upgrade"},
		{"an untried server", func(s *pgstore.Survey) { s.Version = 140001 }, "database", tool.GradePoor, "upgrade"},
		{"many connections", func(s *pgstore.Survey) { s.Connections = 95 }, "database", tool.GradePoor, "max_connections"},
		{"far away", func(s *pgstore.Survey) { s.RoundTrip = time.Second }, "database", tool.GradePoor, "nearer"},
		{"no pgvector", func(s *pgstore.Survey) { s.Vector = "" }, "pgvector", tool.GradeBad, "install"},
		{"pgvector not made", func(s *pgstore.Survey) { s.Vector, s.Available = "", "0.8.10" }, "pgvector", tool.GradeGood, "0.8.10"},
		{"without iterative scans", func(s *pgstore.Survey) { s.Vector = "0.7.4" }, "pgvector", tool.GradeBad, "0.8.0"},
		{"known faults", func(s *pgstore.Survey) { s.Vector = "0.8.3" }, "pgvector", tool.GradePoor, "0.8.4"},
		{"a newer schema", func(s *pgstore.Survey) { s.SchemaErr = errors.New("newer") }, "schema", tool.GradeBad, "newest"},
		{"an older schema", func(s *pgstore.Survey) { s.Schema = 1 }, "schema", tool.GradePoor, "version 1"},
		{"an owner", func(s *pgstore.Survey) { s.Role.Owns = 20 }, "role", tool.GradePoor, "20 tables"},
		{"a superuser", func(s *pgstore.Survey) { s.Role.Superuser = true }, "role", tool.GradePoor, "superuser"},
		{"a bypass", func(s *pgstore.Survey) { s.Role.BypassesPolicies = true }, "role", tool.GradePoor, "NOBYPASSRLS"},
		{"a maker", func(s *pgstore.Survey) { s.Role.Creates = true }, "role", tool.GradePoor, "REVOKE"},
		{"no grants", func(s *pgstore.Survey) { s.Role.Lacks = 3 }, "role", tool.GradePoor, "3 tables"},
		{"another's role", func(s *pgstore.Survey) { s.Role.Refused = true }, "role", tool.GradeBad, "GRANT"},
		{"no role yet", func(s *pgstore.Survey) { s.Role.Missing = true }, "role", tool.GradeGood, "made"},
		{"all is published", func(*pgstore.Survey) {}, "outbox", tool.GradeGood, "every event"},
		{"just committed", waiting(time.Second), "outbox", tool.GradeGood, "3 events"},
		{"a log that takes nothing", waiting(time.Minute), "outbox", tool.GradePoor, "3 events are to be published, the first of codebase ca since 1m0s"},
		{"an event that nobody can read", func(s *pgstore.Survey) { s.Unpublished, s.Oldest = 1, []byte("?") }, "outbox", tool.GradeBad, "newest freshet"},
		{"slow clock", func(s *pgstore.Survey) { s.Ahead = -2 * time.Second }, "clock", tool.GradePoor, "2.0 s behind"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := sound()
			c.change(&s)
			if got := graded(gradeDatabase(s, 256, now), c.check, c.grade); !strings.Contains(got, c.want) {
				t.Errorf("%q, want %q among %+v", got, c.want, gradeDatabase(s, 256, now))
			}
		})
	}
	if got := gradeDatabase(sound(), 4001, now)[1]; got.Grade != tool.GradePoor || !strings.Contains(got.Detail, "4000") {
		t.Errorf("many dimensions: %+v", got)
	}
	log := natsbus.Survey{
		Servers: []natsbus.ServerSurvey{{Version: "2.10.1", Refused: errors.New("too old")}, {RoundTrip: time.Second}},
		Streams: []natsbus.StreamSurvey{
			{Name: "a", Leader: "n1", Behind: []string{"n2"}}, {Name: "b"},
			{Name: "c", Leader: "n1", Bytes: 900, MaxBytes: 1000}, {Name: "d", Missing: true},
		},
	}
	findings := gradeLog(log)
	for i, want := range []struct {
		grade tool.Grade
		text  string
	}{
		{tool.GradeBad, "too old"}, {tool.GradePoor, "1000.0 ms away"}, {tool.GradePoor, "behind on n2"},
		{tool.GradeBad, "no leader"}, {tool.GradePoor, "c holds"}, {tool.GradeGood, "d is made"},
	} {
		if got := findings[i]; got.Grade != want.grade || !strings.Contains(got.Detail, want.text) {
			t.Errorf("%+v, want %s with %q", got, want.grade, want.text)
		}
	}
}
