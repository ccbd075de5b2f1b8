package natsbus_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/pipeline/bus/natsbus"
)

// documented returns the example of docs/operations.md that begins with a key of a server's
// configuration.
func documented(t *testing.T, key string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "operations.md"))
	must(t, err)
	found := regexp.MustCompile("(?ms)^```\\n("+key+" \\{$.*?)^```$").FindAllSubmatch(text, -1)
	if len(found) != 1 {
		t.Fatalf("docs/operations.md has %d examples of %s", len(found), key)
	}
	return string(found[0][1])
}

// tenantServer starts a server with a part of a configuration. The password of a user is
// the user's name.
func tenantServer(t *testing.T, part string) *server.Server {
	t.Helper()
	part = regexp.MustCompile(`user: (\w+), password: \$\w+`).ReplaceAllString(part, "user: $1, password: $1")
	options, err := server.ProcessConfigFile(keep(t, "nats.conf", []byte("max_payload: 1MB\njetstream {}\n"+part)))
	must(t, err)
	return guardedServer(t, func(o *server.Options) {
		o.Accounts, o.Users = options.Accounts, options.Users
	})
}

// tenantsOf is the documented example of permissions with an entry for each of the tenants.
func tenantsOf(t *testing.T, tenants ...string) string {
	t.Helper()
	example := documented(t, "authorization")
	entries := regexp.MustCompile(`(?ms)^    \{ user: (\w+),.*?^    \} \}$`).FindAllStringSubmatchIndex(example, -1)
	if len(entries) != 2 {
		t.Fatalf("the example has %d users", len(entries))
	}
	of := func(i int, tenant string) string {
		entry, name := example[entries[i][0]:entries[i][1]], example[entries[i][2]:entries[i][3]]
		entry = regexp.MustCompile(`\b`+name+`\b`).ReplaceAllString(entry, tenant)
		return regexp.MustCompile(`password: \$\w+`).ReplaceAllString(entry, "password: $$P")
	}
	if diff := cmp.Diff(of(0, "x"), of(1, "x")); diff != "" {
		t.Errorf("the users of the example differ in more than the tenant:\n%s", diff)
	}
	var all []string
	for _, tenant := range tenants {
		all = append(all, of(0, tenant))
	}
	return example[:entries[0][0]] + strings.Join(all, "\n") + example[entries[1][1]:]
}

// openTenant opens the log of a tenant as its user. The test fails when the server refuses
// the user something.
func openTenant(t *testing.T, o natsbus.Options) *natsbus.Bus {
	t.Helper()
	o.Log = slog.New(slog.NewTextHandler(refusals{t}, &slog.HandlerOptions{Level: slog.LevelDebug}))
	b, err := natsbus.Open(t.Context(), o)
	must(t, err)
	return b
}

// refusals fails a test that logs one.
type refusals struct{ t *testing.T }

func (r refusals) Write(line []byte) (int, error) {
	if strings.Contains(strings.ToLower(string(line)), "permissions violation") {
		r.t.Errorf("refused: %s", line)
	}
	return len(line), nil
}

func tenantURL(srv *server.Server, name string) string {
	return strings.Replace(srv.ClientURL(), "nats://", fmt.Sprintf("nats://%s:%s@", name, name), 1)
}

// TestTenantsAreApart: with the accounts of nats.conf or the permissions of docs/operations.md a
// tenant works with its own log, and neither reads the stream of another one nor hears its
// subjects and replies. What a tenant can do that makes streams to that end is attacked in
// TestAccountsWithstandAttacks.
func TestTenantsAreApart(t *testing.T) {
	for name, start := range map[string]func(*testing.T) *server.Server{
		"accounts":    accountsServer,
		"permissions": func(t *testing.T) *server.Server { return tenantServer(t, documented(t, "authorization")) },
	} {
		t.Run(name, func(t *testing.T) {
			srv := start(t)
			one := openTenant(t, natsbus.Options{URL: tenantURL(srv, "one"), Tenant: "one"})
			defer func() { must(t, one.Close()) }()
			two := openTenant(t, natsbus.Options{URL: tenantURL(srv, "two"), Tenant: "two"})
			defer func() { must(t, two.Close()) }()

			spy, err := nats.Connect(tenantURL(srv, "two"), nats.CustomInboxPrefix("_INBOX.two"),
				nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
			must(t, err)
			defer spy.Close()
			overheard := make(chan *nats.Msg, 100)
			for _, subject := range []string{"freshet.one.>", "_INBOX.one.>", ">", "$JS.ACK.freshet-one.>", "freshet.*.*.ask.any"} {
				_, err := spy.ChanSubscribe(subject, overheard) // refusals come later
				must(t, err)
			}
			must(t, spy.Flush())

			publishBatch(t, one, "secret", 0, 3, 10)
			acknowledge(t, one, 3)
			askItself(t, one, natsbus.Options{URL: tenantURL(srv, "one"), Tenant: "one"})
			var read int
			must(t, one.Read(t.Context(), 1, 0, func(bus.Stored) error { read++; return nil }))
			if read != 3 {
				t.Errorf("the tenant reads %d of its own messages", read)
			}
			must(t, two.Read(t.Context(), 1, 0, func(m bus.Stored) error { return errors.New(m.ID) }))
			for _, subject := range []string{
				"$JS.API.STREAM.INFO.freshet-one", "$JS.API.STREAM.MSG.GET.freshet-one", "$JS.API.DIRECT.GET.freshet-one",
				"$JS.API.CONSUMER.CREATE.freshet-one", "$JS.API.STREAM.PURGE.freshet-one", "$JS.API.STREAM.DELETE.freshet-one",
			} {
				reply, err := spy.Request(subject, []byte(`{"seq":1}`), 300*time.Millisecond)
				if err == nil && !strings.Contains(string(reply.Data), `"error"`) {
					t.Errorf("%s: %s", subject, reply.Data)
				}
			}
			must(t, spy.Flush())
			for len(overheard) > 0 {
				msg := <-overheard // the spy hears its own requests
				if strings.HasPrefix(msg.Subject, "freshet.one.") || strings.HasPrefix(msg.Subject, "_INBOX.one.") ||
					strings.HasPrefix(msg.Subject, "$JS.ACK.") || strings.Contains(fmt.Sprint(msg.Header), "secret") {
					t.Errorf("overheard %s: %v %s", msg.Subject, msg.Header, msg.Data)
				}
			}
			state, err := one.State(t.Context())
			must(t, err)
			if state.Messages != 3 || state.Gap {
				t.Errorf("the log of the tenant: %+v", state)
			}
		})
	}
}

// askItself has two processes of a tenant do what the suite of buses leaves out.
func askItself(t *testing.T, b *natsbus.Bus, o natsbus.Options) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- b.Serve(ctx, "secret", func(context.Context, []byte) ([]byte, error) { return []byte("here"), nil })
	}()
	other := openTenant(t, o)
	answer := []byte(nil)
	err := bus.ErrNoAnswer
	for deadline := time.Now().Add(5 * time.Minute); errors.Is(err, bus.ErrNoAnswer) && time.Now().Before(deadline); {
		asking, cancel := context.WithTimeout(t.Context(), time.Second)
		answer, err = other.Ask(asking, "secret", []byte("who?"))
		cancel()
	}
	must(t, err)
	if string(answer) != "here" {
		t.Errorf("answered %q", answer)
	}
	must(t, other.Ping(t.Context()))
	_, err = other.Marks(t.Context())
	must(t, err)
	_, err = other.Lags(t.Context(), []string{"w"})
	must(t, err)
	must(t, other.Close())
	survey, err := natsbus.Look(t.Context(), o)
	must(t, errors.Join(err, survey.Err))
	stop()
	must(t, <-done)
}

// TestPasswordsAreNotTold: an error of a server that cannot be reached holds no secret.
func TestPasswordsAreNotTold(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"nats://me:hushhush@127.0.0.1:1", "nats://hushhush@127.0.0.1:1,nats://127.0.0.1:2"} {
		_, err := natsbus.Open(t.Context(), natsbus.Options{URL: url})
		if err == nil || strings.Contains(err.Error(), "hushhush") || !strings.Contains(err.Error(), "127.0.0.1:1") {
			t.Errorf("%v", err)
		}
	}
}
