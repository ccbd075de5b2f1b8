package natsbus_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/freshet/freshet/pipeline/bus/natsbus"
)

// accountsServer runs the configuration cmd/nats.conf, on another port and in
// another directory. The password of a user is the user's name. The variables are the process's: the
// test that calls it is not parallel.
func accountsServer(t *testing.T) *server.Server {
	t.Helper()
	return changedServer(t, func(config string) string { return config })
}

// changedServer is accountsServer with a change to the configuration.
func changedServer(t *testing.T, change func(config string) string) *server.Server {
	t.Helper()
	t.Setenv("ONE_PASSWORD", "one")
	t.Setenv("TWO_PASSWORD", "two")
	config, err := os.ReadFile(filepath.Join("..", "..", "..", "cmd", "nats.conf"))
	must(t, err)
	path := filepath.Join(t.TempDir(), "nats.conf")
	must(t, os.WriteFile(path, []byte(change(string(config))), 0o600))
	options, err := server.ProcessConfigFile(path)
	must(t, err)
	if !options.JetStream || options.StoreDir == "" || options.Host != "127.0.0.1" || !options.SyncAlways {
		t.Errorf("nats.conf is not complete: %+v", options)
	}
	options.Port, options.StoreDir, options.JetStreamMaxStore = server.RANDOM_PORT, t.TempDir(), 1<<40
	options.NoSigs, options.NoLog = true, true
	return startedServer(t, options)
}

const (
	ownStream = "freshet-two" // which permissions let tenant two make
	copies    = "_INBOX.two.copy"
	answerIn  = 5 * time.Minute
)

// attack is a stream that tenant two makes to get at messages of tenant one, or to give it
// some.
type attack struct {
	name   string
	config map[string]any
	// marker is a subject on which tenant two publishes: it arrives where what is stolen
	// arrives, and so proves that the stream does what the attack wants of it.
	marker string
	forged bool // the messages go to the log of tenant one
}

// attacks are all ways in which a stream takes messages from elsewhere or gives them on.
// decoy.marker is in a stream that tenant two names as tenant one's is named, where it may.
func attacks() []attack {
	foreign := map[string]any{"name": "freshet-one"}
	filtered := map[string]any{"name": "freshet-one", "filter_subject": "*.>"}
	republish := map[string]any{"src": ">", "dest": copies + ".>"}
	own := []string{"freshet.two.>"}
	return []attack{
		{name: "mirror", config: map[string]any{"mirror": foreign}, marker: "decoy.marker"},
		{name: "sources", config: map[string]any{"sources": []any{foreign}}, marker: "decoy.marker"},
		{name: "filtered sources", config: map[string]any{"sources": []any{filtered}}, marker: "decoy.marker"},
		{name: "republish", config: map[string]any{"sources": []any{foreign}, "republish": republish}, marker: "decoy.marker"},
		{name: "foreign subjects", config: map[string]any{"subjects": append(own, "freshet.one.>"), "no_ack": true}, marker: "freshet.two.marker"},
		{name: "reply subjects", config: map[string]any{"subjects": append(own, "_INBOX.one.>"), "no_ack": true}, marker: "freshet.two.marker"},
		{name: "forged messages", config: map[string]any{"subjects": own, "republish": map[string]any{"src": "freshet.two.*.*", "dest": "freshet.one.{{wildcard(1)}}.{{wildcard(2)}}"}},
			marker: "freshet.two.forged.sync", forged: true},
	}
}

// calls are requests of tenant two about the stream of tenant one, in this order.
func calls() []attack {
	consumer := func(config map[string]any) map[string]any {
		return map[string]any{"stream_name": "freshet-one", "config": config}
	}
	return []attack{
		{name: "STREAM.INFO.freshet-one"},
		{name: "CONSUMER.CREATE.freshet-one", config: consumer(map[string]any{"deliver_subject": "_INBOX.two.pushed", "deliver_policy": "all", "ack_policy": "none"})},
		{name: "CONSUMER.CREATE.freshet-one.push", config: consumer(map[string]any{"name": "push", "deliver_subject": "_INBOX.two.pushed", "ack_policy": "none"})},
		{name: "CONSUMER.CREATE.freshet-one.spy.freshet.one.>", config: consumer(map[string]any{"name": "spy", "filter_subject": "freshet.one.>", "ack_policy": "none"})},
		{name: "CONSUMER.DURABLE.CREATE.freshet-one.durable", config: consumer(map[string]any{"durable_name": "durable", "ack_policy": "explicit"})},
		{name: "CONSUMER.MSG.NEXT.freshet-one.durable", config: map[string]any{"batch": 1, "no_wait": true}},
		{name: "CONSUMER.LIST.freshet-one"},
		{name: "DIRECT.GET.freshet-one", config: map[string]any{"seq": 1}},
		{name: "DIRECT.GET.freshet-one.freshet.one.secret.sync"},
		{name: "STREAM.MSG.GET.freshet-one", config: map[string]any{"seq": 1}},
		{name: "STREAM.SNAPSHOT.freshet-one", config: map[string]any{"deliver_subject": "_INBOX.two.backup"}},
		{name: "STREAM.UPDATE.freshet-one", config: map[string]any{"name": "freshet-one", "subjects": []string{"freshet.one.>"}, "republish": map[string]any{"src": ">", "dest": copies + ".>"}}},
		{name: "STREAM.MSG.DELETE.freshet-one", config: map[string]any{"seq": 1}},
		{name: "STREAM.PURGE.freshet-one"},
		{name: "STREAM.DELETE.freshet-one"},
	}
}

// attacker is a client of tenant two.
type attacker struct {
	t       *testing.T
	conn    *nats.Conn
	refused chan struct{} // by the permissions
}

func newAttacker(t *testing.T, srv *server.Server) attacker {
	t.Helper()
	a := attacker{t: t, refused: make(chan struct{}, 1)}
	conn, err := nats.Connect(tenantURL(srv, "two"), nats.CustomInboxPrefix("_INBOX.two"), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
		if errors.Is(err, nats.ErrPermissionViolation) {
			a.refused <- struct{}{}
		}
	}))
	must(t, err)
	t.Cleanup(conn.Close)
	a.conn = conn
	return a
}

// ask sends a request and returns its answer; nil says that it was refused. The server does
// one of both.
func (a attacker) ask(subject string, body any) []byte {
	a.t.Helper()
	var data []byte
	if body != nil {
		var err error
		data, err = json.Marshal(body)
		must(a.t, err)
	}
	answers := make(chan *nats.Msg, 16)
	inbox := a.conn.NewInbox()
	subscription, err := a.conn.ChanSubscribe(inbox, answers)
	must(a.t, err)
	defer func() { must(a.t, subscription.Unsubscribe()) }()
	must(a.t, a.conn.PublishRequest(subject, inbox, data))
	select {
	case <-a.refused:
		return nil
	case m := <-answers:
		var failed struct {
			Error json.RawMessage `json:"error"`
		}
		if m.Header.Get("Status") != "" || json.Unmarshal(m.Data, &failed) == nil && failed.Error != nil {
			return nil
		}
		return append([]byte{}, m.Data...)
	case <-time.After(answerIn):
		a.t.Fatalf("%s: neither answered nor refused", subject)
		return nil
	}
}

// subjects returns those of the messages in a stream of the attacker.
func (a attacker) subjects(stream string) (found []string) {
	a.t.Helper()
	var info struct {
		State struct {
			Subjects map[string]uint64 `json:"subjects"`
		} `json:"state"`
	}
	must(a.t, json.Unmarshal(a.ask("$JS.API.STREAM.INFO."+stream, map[string]any{"subjects_filter": ">"}), &info))
	for subject := range info.State.Subjects {
		found = append(found, subject)
	}
	return found
}

func ofOne(subject string) bool {
	return strings.Contains("."+subject, ".freshet.one.") || strings.Contains("."+subject, "._INBOX.one.")
}

// steals makes the stream of an attack while tenant one works, and reports whether a message
// of tenant one came to it or a message of its own to tenant one. It returns once either a
// message of tenant one or the marker was where the stolen ones are to arrive.
func (a attacker) steals(attack attack, work func()) bool {
	a.t.Helper()
	arrived := make(chan *nats.Msg, 4096)
	republished, err := a.conn.ChanSubscribe(copies+".>", arrived)
	must(a.t, err)
	defer func() { must(a.t, republished.Unsubscribe()) }()
	config := map[string]any{"name": ownStream, "storage": "memory"}
	for key, value := range attack.config {
		config[key] = value
	}
	if a.ask("$JS.API.STREAM.CREATE."+ownStream, config) == nil {
		return false
	}
	defer a.ask("$JS.API.STREAM.DELETE."+ownStream, nil)
	work()
	if attack.marker != "decoy.marker" {
		must(a.t, a.conn.Publish(attack.marker, nil))
	}
	_, copied := attack.config["republish"]
	for deadline := time.Now().Add(answerIn); time.Now().Before(deadline); {
		found := a.subjects(ownStream)
		if copied && !attack.forged {
			found = nil
			select {
			case m := <-arrived:
				found = []string{strings.TrimPrefix(m.Subject, copies+".")}
			case <-time.After(answerIn):
			}
		}
		switch {
		case slices.ContainsFunc(found, ofOne):
			return true
		case slices.Contains(found, attack.marker):
			return false
		}
	}
	a.t.Errorf("%s: neither a message of tenant one nor the marker arrived", attack.name)
	return false
}

// assail has tenant two attack tenant one, which works meanwhile, in every way. It returns
// the names of the attacks that work.
func assail(t *testing.T, srv *server.Server) (worked []string) {
	t.Helper()
	one := openTenant(t, natsbus.Options{URL: tenantURL(srv, "one"), Tenant: "one"})
	defer func() { must(t, one.Close()) }()
	a := newAttacker(t, srv)
	published := 0
	work := func() {
		publishBatch(t, one, "secret", published, 3, 10)
		publishBatch(t, one, "secret", published+3, 1, 10) // which other streams take, unlike a part of a batch
		published += 4
	}
	work()
	decoy := a.ask("$JS.API.STREAM.CREATE.freshet-one", map[string]any{"name": "freshet-one", "subjects": []string{"decoy.>"}, "storage": "memory"}) != nil
	if decoy && a.ask("decoy.marker", nil) == nil {
		t.Fatal("the decoy takes no message")
	}
	intact := func() bool {
		state, err := one.State(t.Context())
		must(t, err)
		return state.Messages == uint64(published) && !state.Gap
	}
	for _, attack := range attacks() {
		if a.steals(attack, work) || !intact() {
			worked = append(worked, attack.name)
			state, err := one.State(t.Context())
			must(t, err)
			published = int(state.Messages)
		}
	}
	if decoy && a.ask("$JS.API.STREAM.DELETE.freshet-one", nil) == nil {
		t.Fatal("the decoy cannot be deleted")
	}
	for _, call := range calls() {
		var body any
		if call.config != nil {
			body = call.config
		}
		if a.ask("$JS.API."+call.name, body) != nil || !intact() {
			worked = append(worked, call.name)
		}
	}
	work()
	if !intact() {
		t.Error("tenant one cannot work after the attacks")
	}
	return worked
}

// TestAccountsWithstandAttacks runs the configuration cmd/nats.conf, and has tenant two try
// on tenant one what JetStream offers: none of it works.
func TestAccountsWithstandAttacks(t *testing.T) {
	srv := accountsServer(t)
	if found := crossings(t, srv); len(found) > 0 {
		t.Errorf("these cross from one tenant to another: %q", found)
	}
	if worked := assail(t, srv); len(worked) > 0 {
		t.Errorf("with an account for each tenant these attacks work: %q", worked)
	}
}

// crossings lists what an account of a tenant exports, and what it imports from any but the
// system: that is how messages cross accounts, under whatever subject.
func crossings(t *testing.T, srv *server.Server) (found []string) {
	t.Helper()
	for _, name := range []string{"ONE", "TWO"} {
		accounts, err := srv.Accountz(&server.AccountzOptions{Account: name})
		must(t, err)
		for _, e := range accounts.Account.Exports {
			found = append(found, name+" exports "+string(e.Subject))
		}
		for _, i := range accounts.Account.Imports {
			if i.Account != srv.SystemAccount().Name {
				found = append(found, name+" imports "+string(i.Subject)+" of "+i.Account)
			}
		}
	}
	return found
}

// What an operator may add to nats.conf that lets one tenant at the log of another is found:
// an export that everybody may import, the same with an import, and one under another name.
func TestAttacksFindAnExportedLog(t *testing.T) {
	const get = "$JS.API.STREAM.MSG.GET.freshet-one"
	export := func(config string) string {
		return strings.Replace(config, "  ONE {", "  ONE {\n    exports: [{ service: \""+get+"\" }]", 1)
	}
	for _, c := range []struct {
		name, to string
		imported bool
		want     []string
	}{
		{name: "exported", want: []string{"ONE exports " + get}},
		{name: "imported", imported: true, to: get, want: []string{"ONE exports " + get, "TWO imports " + get + " of ONE"}},
		{name: "imported under another name", imported: true, to: "spy", want: []string{"ONE exports " + get, "TWO imports " + get + " of ONE"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			srv := changedServer(t, func(config string) string {
				if config = export(config); c.imported {
					config = strings.Replace(config, "  TWO {", "  TWO {\n    imports: [{ service: { account: ONE, subject: \""+get+"\" }, to: \""+c.to+"\" }]", 1)
				}
				return config
			})
			if diff := cmp.Diff(c.want, crossings(t, srv)); diff != "" {
				t.Errorf("crossings (-want +got):\n%s", diff)
			}
			if c.to != "spy" {
				return
			}
			one := openTenant(t, natsbus.Options{URL: tenantURL(srv, "one"), Tenant: "one"})
			publishBatch(t, one, "secret", 0, 3, 10)
			if newAttacker(t, srv).ask(c.to, map[string]any{"seq": 1}) == nil {
				t.Error("the log is not read through the import, so that nothing shows that it is one")
			}
			must(t, one.Close())
		})
	}
}

// TestPermissionsWithstandOnlyCalls makes the same attacks with the permissions of
// docs/operations.md in one account: those by streams work, as that text says, which shows that
// the attacks are real. No direct call does.
func TestPermissionsWithstandOnlyCalls(t *testing.T) {
	t.Parallel()
	worked := assail(t, tenantServer(t, documented(t, "authorization")))
	want := []string{"mirror", "sources", "filtered sources", "republish", "reply subjects", "forged messages"}
	if diff := cmp.Diff(want, worked); diff != "" {
		t.Errorf("the attacks that work in one account (-want +got):\n%s", diff)
	}
}
