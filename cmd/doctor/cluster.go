package doctor

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/pipeline/bus/natsbus"
	"github.com/freshet/freshet/pipeline/event"
	"github.com/freshet/freshet/store/pgstore"
)

// slowRoundTrip is the time of one question to a server above which an edit is searchable
// late, and skewed the difference of clocks above which leases are at risk.
const (
	slowRoundTrip = 20 * time.Millisecond
	skewed        = time.Second
)

// surveyTime bounds the look at one of the two.
const surveyTime = 20 * time.Second

// diagnoseCluster looks at the shared log and the shared store, when there are any. It
// makes and changes nothing in either.
func diagnoseCluster(ctx context.Context, opts Options, dimension int) []tool.Finding {
	const check = "cluster"
	if !opts.Cluster.Shared() {
		return nil
	}
	if err := opts.Cluster.Check(); err != nil {
		return []tool.Finding{bad(check, err.Error(), "set the variables as README.md says under Scale out")}
	}
	findings := []tool.Finding{good(check, fmt.Sprintf("tenant %s, place %s", tenantOf(opts), opts.Cluster.Place))}
	findings = append(findings, diagnoseLog(ctx, opts)...)
	return append(findings, diagnoseDatabase(ctx, opts, dimension)...)
}

func tenantOf(opts Options) string {
	if opts.Cluster.Tenant == "" {
		return "default"
	}
	return opts.Cluster.Tenant
}

func diagnoseLog(ctx context.Context, opts Options) []tool.Finding {
	ctx, cancel := context.WithTimeout(ctx, surveyTime)
	defer cancel()
	survey, err := natsbus.Look(ctx, opts.Cluster.LogOptions(opts.Now, opts.Log))
	if err != nil {
		return []tool.Finding{bad("nats", err.Error(), "correct FRESHET_NATS_URL and the variables beside it")}
	}
	return gradeLog(survey)
}

func gradeLog(s natsbus.Survey) []tool.Finding {
	var findings []tool.Finding
	away := 0
	for _, server := range s.Servers {
		if server.Err != nil {
			away++
		}
	}
	for _, server := range s.Servers {
		findings = append(findings, gradeServer(server, 2*away >= len(s.Servers)))
	}
	if s.Err != nil {
		return append(findings, bad("stream", s.Err.Error(),
			"start the servers, or correct FRESHET_NATS_URL and the credentials; a cluster answers while most of its servers run"))
	}
	for _, stream := range s.Streams {
		findings = append(findings, gradeStream(stream)...)
	}
	if s.Dated {
		findings = append(findings, gradeClock("NATS", s.Ahead))
	}
	return findings
}

// gradeServer grades one server; a cluster works without the smaller part of them.
func gradeServer(s natsbus.ServerSurvey, most bool) tool.Finding {
	const check = "nats"
	switch {
	case s.Err != nil && most:
		return bad(check, fmt.Sprintf("%s cannot be reached: %v", s.Address, s.Err), "start it, or correct FRESHET_NATS_URL, the credentials or the certificates")
	case s.Err != nil:
		return poor(check, fmt.Sprintf("%s cannot be reached: %v", s.Address, s.Err), "the cluster works without it; start it again, or take it out of FRESHET_NATS_URL")
	case s.Refused != nil:
		return bad(check, fmt.Sprintf("%s: %v", s.Address, s.Refused), "upgrade the server")
	}
	detail := fmt.Sprintf("%s is %s %s, %s away", s.Address, s.Name, s.Version, milliseconds(s.RoundTrip))
	if s.RoundTrip > slowRoundTrip {
		return poor(check, detail, "run freshet nearer to the servers: every commit waits for them")
	}
	return good(check, detail)
}

func gradeStream(s natsbus.StreamSurvey) []tool.Finding {
	check := "stream"
	if s.Missing {
		return []tool.Finding{good(check, s.Name+" is made when it is first needed")}
	}
	var findings []tool.Finding
	for _, wrong := range s.Wrong {
		findings = append(findings, bad(check, fmt.Sprintf("%s has another setting than freshet's: %s", s.Name, wrong),
			"set it back with nats stream edit, or delete the stream: it is made anew and the index stays (docs/operations.md, lost stream)"))
	}
	switch {
	case s.Leader == "":
		findings = append(findings, bad(check, s.Name+" has no leader", "start the servers that are away: most of them must run"))
	case len(s.Behind) > 0:
		findings = append(findings, poor(check, fmt.Sprintf("%s is behind on %s", s.Name, strings.Join(s.Behind, ", ")),
			"start those servers, or wait until they have caught up"))
	case s.MaxBytes > 0 && s.Bytes > s.MaxBytes/5*4:
		findings = append(findings, poor(check, fmt.Sprintf("%s holds %d of %d MiB", s.Name, s.Bytes>>20, s.MaxBytes>>20),
			"publishers wait when it is full: freshet gc lets go of old snapshots, and the log behind them goes with them"))
	}
	if len(findings) > 0 {
		return findings
	}
	return []tool.Finding{good(check, fmt.Sprintf("%s: %d replicas, led by %s, %d of %d MiB", s.Name, s.Replicas, s.Leader, s.Bytes>>20, s.MaxBytes>>20))}
}

func gradeClock(of string, ahead time.Duration) tool.Finding {
	const check = "clock"
	if ahead.Abs() > skewed {
		where := "ahead of"
		if ahead < 0 {
			where = "behind"
		}
		return poor(check, fmt.Sprintf("%s's clock is %.1f s %s this one", of, ahead.Abs().Seconds(), where),
			"have both hosts keep time by NTP: leases and ages are read from it")
	}
	return good(check, fmt.Sprintf("%s's clock differs by %s", of, milliseconds(ahead.Abs())))
}

func diagnoseDatabase(ctx context.Context, opts Options, dimension int) []tool.Finding {
	ctx, cancel := context.WithTimeout(ctx, surveyTime)
	defer cancel()
	survey, err := pgstore.Look(ctx, opts.Cluster.Database, pgstore.Options{
		Tenant: opts.Cluster.Tenant, Role: opts.Cluster.Role, Now: opts.Now, Log: opts.Log,
	})
	if err != nil {
		return []tool.Finding{bad("database", err.Error(), "start the server, or correct FRESHET_DATABASE_URL")}
	}
	return gradeDatabase(survey, dimension, opts.Now())
}

// The versions below which the migrations fail, and those below which faults are known or
// nobody has tried.
const (
	leastPostgres, triedPostgres = 130000, 150000
	leastVector, soundVector     = "0.8.0", "0.8.4"
)

func gradeDatabase(s pgstore.Survey, dimension int, now time.Time) []tool.Finding {
	const check = "database"
	detail := fmt.Sprintf("%s is PostgreSQL %s, %s away", s.Where, s.Release, milliseconds(s.RoundTrip))
	finding := good(check, detail)
	switch {
	case s.Version < leastPostgres:
		finding = bad(check, detail, "upgrade to PostgreSQL 15 or newer: pgvector needs 13")
	case s.Version < triedPostgres:
		finding = poor(check, detail, "upgrade to PostgreSQL 15 or newer: freshet is tested with that")
	case s.Connections > s.MaxConnections/10*9:
		finding = poor(check, fmt.Sprintf("%s; %d of %d connections are open", detail, s.Connections, s.MaxConnections),
			"raise max_connections: each process of freshet takes up to 16, or as many as pool_max_conns in FRESHET_DATABASE_URL says")
	case s.RoundTrip > slowRoundTrip:
		finding = poor(check, detail, "run freshet nearer to the server: every commit waits for it")
	}
	return []tool.Finding{finding, gradeVector(s, dimension), gradeSchema(s), gradeRole(s.Role), gradeClock("PostgreSQL", s.Ahead), gradeOutbox(s, now)}
}

func gradeVector(s pgstore.Survey, dimension int) tool.Finding {
	const check = "pgvector"
	version := s.Vector
	if version == "" {
		version = s.Available
	}
	update := "install the newer package, then ALTER EXTENSION vector UPDATE"
	switch {
	case version == "":
		return bad(check, "the server has no pgvector", "install postgresql-NN-pgvector, 0.8.4 or newer")
	case older(version, leastVector):
		return bad(check, "pgvector "+version+" has no iterative scans: "+leastVector+" is needed", update)
	case dimension > pgstore.MaxDimension:
		return poor(check, fmt.Sprintf("vectors of %d dimensions are more than the %d that an index takes", dimension, pgstore.MaxDimension),
			"readers scan them; choose a model of fewer dimensions for large codebases")
	case older(version, soundVector):
		return poor(check, "pgvector "+version+" is known for faulty vacuums and builds of HNSW indexes", update+" to "+soundVector+" or newer")
	case s.Vector == "":
		return good(check, "pgvector "+version+" is made when it is first needed")
	}
	return good(check, fmt.Sprintf("pgvector %s indexes up to %d dimensions, the model has %d", version, pgstore.MaxDimension, dimension))
}

// older compares versions number by number.
func older(version, than string) bool { return slices.Compare(numbers(version), numbers(than)) < 0 }

func numbers(version string) []int {
	var list []int
	for part := range strings.SplitSeq(version, ".") {
		n, _ := strconv.Atoi(part) // what is no number is before every release
		list = append(list, n)
	}
	return list
}

func gradeSchema(s pgstore.Survey) tool.Finding {
	const check = "schema"
	switch {
	case s.SchemaErr != nil:
		return bad(check, s.SchemaErr.Error(), "run the newest freshet that used this database, or restore the database")
	case s.Schema == 0:
		return good(check, "the tables are made when they are first needed")
	case s.Schema < s.Known:
		return poor(check, fmt.Sprintf("version %d, this binary brings it to %d when it is next opened", s.Schema, s.Known),
			"processes of older binaries stop then: start the new one everywhere")
	}
	return good(check, fmt.Sprintf("version %d, which this binary knows", s.Schema))
}

func gradeRole(r pgstore.RoleSurvey) tool.Finding {
	const check = "role"
	apart := "set FRESHET_DATABASE_ROLE to a role that owns nothing; freshet makes and grants it"
	switch {
	case r.Missing:
		return good(check, r.Name+" is made when it is first needed")
	case r.Refused:
		return bad(check, "the role of the URL may not take the role "+r.Name, fmt.Sprintf("GRANT %q TO the role of the URL", r.Name))
	case r.Superuser:
		return poor(check, r.Name+" is a superuser: no policy keeps tenants apart", apart)
	case r.BypassesPolicies:
		return poor(check, r.Name+" bypasses the policies that keep tenants apart", fmt.Sprintf("ALTER ROLE %q NOBYPASSRLS", r.Name))
	case r.Owns > 0:
		return poor(check, fmt.Sprintf("%s owns %d tables and may change them", r.Name, r.Owns), apart)
	case r.Creates:
		return poor(check, r.Name+" may make tables", "REVOKE CREATE ON SCHEMA public FROM PUBLIC")
	case r.Lacks > 0:
		return poor(check, fmt.Sprintf("%s may not use %d tables yet", r.Name, r.Lacks), "start freshet once with a URL whose role owns the tables: it grants them")
	}
	return good(check, r.Name+" owns nothing, and reads and writes rows")
}

// unpublishedLong is how long an event waits at most where the log takes events.
const unpublishedLong = 10 * time.Second

// gradeOutbox tells whether the log takes what is committed. now is this host's clock, as
// the time of an event is that of the host which committed it.
func gradeOutbox(s pgstore.Survey, now time.Time) tool.Finding {
	const check = "outbox"
	if s.Unpublished == 0 {
		return good(check, "every event that was committed is in the log")
	}
	first, err := event.Decode(s.Oldest)
	if err != nil {
		return bad(check, fmt.Sprintf("%d events are to be published; the first cannot be read: %v", s.Unpublished, err),
			"start the newest freshet that writes to this database: an older one does not know its events")
	}
	waited := now.Sub(first.At).Round(time.Second)
	detail := fmt.Sprintf("%d events are to be published, the first of codebase %s since %s", s.Unpublished, first.Codebase, waited)
	if waited < unpublishedLong {
		return good(check, detail)
	}
	return poor(check, detail, "nothing is lost, and nothing new is indexed: start a process of freshet if none runs, "+
		"and look at the disks and the logs of the NATS servers")
}
