package natsbus_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/pipeline/bus/natsbus"
)

// tenantPermissions are what a tenant's user needs and nothing else, for tenants that share
// an account: its subjects, its streams, and its own replies.
func tenantPermissions(tenant string) *server.Permissions {
	stream, dead := "freshet-"+tenant, "freshet-"+tenant+"-dead"
	publish := []string{
		"freshet." + tenant + ".>", "freshet-dead." + tenant + ".>",
		"_INBOX." + tenant + ".>", // answers to what others ask
		"$JS.API.STREAM.NAMES",
	}
	subscribe := []string{"freshet." + tenant + ".>", "_INBOX." + tenant + ".>"}
	for _, name := range []string{stream, dead} {
		publish = append(publish, "$JS.API.STREAM.*."+name, "$JS.API.STREAM.MSG.*."+name, "$JS.API.DIRECT.GET."+name,
			"$JS.API.DIRECT.GET."+name+".>", "$JS.API.CONSUMER.*."+name, "$JS.API.CONSUMER.*."+name+".>",
			"$JS.API.CONSUMER.MSG.NEXT."+name+".>", "$JS.ACK."+name+".>", "$JS.FC."+name+".>")
		subscribe = append(subscribe, "$JS.EVENT.ADVISORY.STREAM.*."+name, "$JS.EVENT.ADVISORY.CONSUMER.*."+name+".>")
	}
	return &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: publish},
		Subscribe: &server.SubjectPermission{Allow: subscribe},
	}
}

// tenantServer starts a server with two tenants, each a user with a password of its name:
// in accounts of their own, or in one with permissions.
func tenantServer(t *testing.T, accounts bool) *server.Server {
	t.Helper()
	options := &server.Options{
		ServerName: "tenants", Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(),
		NoSigs: true, NoLog: true, JetStreamMaxStore: 1 << 40, JetStreamMaxMemory: 1 << 30, MaxPayload: 1 << 20,
	}
	for _, name := range []string{"one", "two"} {
		user := &server.User{Username: name, Password: name}
		if accounts {
			user.Account = server.NewAccount(name)
			options.Accounts = append(options.Accounts, user.Account)
		} else {
			user.Permissions = tenantPermissions(name)
		}
		options.Users = append(options.Users, user)
	}
	srv, err := server.NewServer(options)
	must(t, err)
	srv.Start()
	t.Cleanup(func() {
		srv.Shutdown()
		srv.WaitForShutdown()
	})
	if !srv.ReadyForConnections(10 * time.Second) {
		t.Fatal("the server does not start")
	}
	if accounts {
		for _, name := range []string{"one", "two"} {
			account, err := srv.LookupAccount(name)
			must(t, err)
			must(t, account.EnableJetStream(nil, nil))
		}
	}
	return srv
}

func tenantURL(srv *server.Server, name string) string {
	return strings.Replace(srv.ClientURL(), "nats://", fmt.Sprintf("nats://%s:%s@", name, name), 1)
}

// TestTenantsAreApart: with an account, or with permissions, a tenant works with its own log
// and reads nothing of another's: neither its stream, nor its subjects, nor its replies.
func TestTenantsAreApart(t *testing.T) {
	t.Parallel()
	for _, accounts := range []bool{true, false} {
		t.Run(map[bool]string{true: "accounts", false: "permissions"}[accounts], func(t *testing.T) {
			t.Parallel()
			srv := tenantServer(t, accounts)
			one := open(t, natsbus.Options{URL: tenantURL(srv, "one"), Tenant: "one"})
			defer func() { must(t, one.Close()) }()
			two := open(t, natsbus.Options{URL: tenantURL(srv, "two"), Tenant: "two"})
			defer func() { must(t, two.Close()) }()

			spy, err := nats.Connect(tenantURL(srv, "two"), nats.CustomInboxPrefix("_INBOX.two"),
				nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
			must(t, err)
			defer spy.Close()
			overheard := make(chan *nats.Msg, 100)
			for _, subject := range []string{"freshet.one.>", "_INBOX.one.>", ">", "$JS.ACK.freshet-one.>"} {
				_, err := spy.ChanSubscribe(subject, overheard) // refusals come later
				must(t, err)
			}
			must(t, spy.Flush())

			publishBatch(t, one, "secret", 0, 3, 10)
			acknowledge(t, one, 3)
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
