package natsbus_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"

	"github.com/freshet/freshet/pipeline/bus/natsbus"
)

// guardedServer starts a server elsewhere that asks who comes.
func guardedServer(t *testing.T, change func(*server.Options)) *server.Server {
	t.Helper()
	options := &server.Options{
		ServerName: "guarded", Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(),
		NoSigs: true, NoLog: true, JetStreamMaxStore: 1 << 40, JetStreamMaxMemory: 1 << 30, MaxPayload: 1 << 20,
	}
	options.AuthTimeout = 300
	change(options)
	return startedServer(t, options)
}

// startedServer runs a server until the test ends.
func startedServer(t *testing.T, options *server.Options) *server.Server {
	t.Helper()
	srv, err := server.NewServer(options)
	must(t, err)
	srv.Start()
	t.Cleanup(func() {
		srv.Shutdown()
		srv.WaitForShutdown()
	})
	if !srv.ReadyForConnections(5 * time.Minute) {
		t.Fatal("the server does not start")
	}
	return srv
}

func keep(t *testing.T, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	must(t, os.WriteFile(path, data, 0o600))
	return path
}

// admits opens a log with what the server asks for, works with it, and is refused with
// anything else. No error tells a secret.
func admits(t *testing.T, good natsbus.Options, wrong map[string]natsbus.Options) {
	t.Helper()
	b := open(t, good)
	publishBatch(t, b, "a", 0, 3, 10)
	acknowledge(t, b, 3)
	must(t, b.Close())
	survey, err := natsbus.Look(t.Context(), good)
	must(t, err)
	if survey.Err != nil || len(survey.Streams) != 2 || survey.Streams[0].Missing {
		t.Errorf("surveyed with the same: %+v", survey)
	}
	for name, o := range wrong {
		b, err := natsbus.Open(t.Context(), o)
		if err == nil {
			t.Errorf("%s: taken", name)
			must(t, b.Close())
			continue
		}
		if strings.Contains(err.Error(), "hushhush") {
			t.Errorf("%s: a secret is told: %v", name, err)
		}
	}
}

func TestUserAndPassword(t *testing.T) {
	t.Parallel()
	srv := guardedServer(t, func(o *server.Options) { o.Username, o.Password = "me", "hushhush" })
	with := func(user string) natsbus.Options {
		return natsbus.Options{URL: strings.Replace(srv.ClientURL(), "nats://", "nats://"+user, 1)}
	}
	admits(t, with("me:hushhush@"), map[string]natsbus.Options{
		"nothing": with(""), "another password": with("me:hushhushh@"), "another user": with("you:hushhush@"),
	})
}

func TestNKey(t *testing.T) {
	t.Parallel()
	seeds := map[string][]byte{}
	var public string
	for _, name := range []string{"ours", "another"} {
		pair, err := nkeys.CreateUser()
		must(t, err)
		seeds[name], err = pair.Seed()
		must(t, err)
		if name == "ours" {
			public, err = pair.PublicKey()
			must(t, err)
		}
	}
	srv := guardedServer(t, func(o *server.Options) { o.Nkeys = []*server.NkeyUser{{Nkey: public}} })
	with := func(r natsbus.Remote) natsbus.Options { return natsbus.Options{URL: srv.ClientURL(), Remote: r} }
	ours := keep(t, "seed", seeds["ours"])
	admits(t, with(natsbus.Remote{NKey: ours}), map[string]natsbus.Options{
		"nothing": with(natsbus.Remote{}), "another key": with(natsbus.Remote{NKey: keep(t, "seed", seeds["another"])}),
		"no key": with(natsbus.Remote{NKey: keep(t, "seed", []byte("hushhush"))}), "no file": with(natsbus.Remote{NKey: ours + "x"}),
		"two ways": with(natsbus.Remote{NKey: ours, Credentials: ours}),
	})
}

// TestCredentials: a server of an operator admits the user of an account by the file that
// its tools make, and nobody by one of another operator.
func TestCredentials(t *testing.T) {
	t.Parallel()
	operator, account := key(t, nkeys.CreateOperator), key(t, nkeys.CreateAccount)
	trusted := jwt.NewOperatorClaims(publicKey(t, operator))
	encoded, err := trusted.Encode(operator)
	must(t, err)
	trusted, err = jwt.DecodeOperatorClaims(encoded)
	must(t, err)
	claims := jwt.NewAccountClaims(publicKey(t, account))
	claims.Limits.JetStreamLimits = jwt.JetStreamLimits{MemoryStorage: -1, DiskStorage: -1, Streams: -1, Consumer: -1}
	text, err := claims.Encode(operator)
	must(t, err)
	accounts := &server.MemAccResolver{}
	must(t, accounts.Store(publicKey(t, account), text))
	system := publicKey(t, key(t, nkeys.CreateAccount)) // without one there is no JetStream
	text, err = jwt.NewAccountClaims(system).Encode(operator)
	must(t, err)
	must(t, accounts.Store(system, text))
	srv := guardedServer(t, func(o *server.Options) {
		o.TrustedOperators, o.AccountResolver, o.SystemAccount = []*jwt.OperatorClaims{trusted}, accounts, system
	})
	with := func(credentials string) natsbus.Options {
		return natsbus.Options{URL: srv.ClientURL(), Remote: natsbus.Remote{Credentials: credentials}}
	}
	ours := keep(t, "user.creds", credentials(t, account))
	admits(t, with(ours), map[string]natsbus.Options{
		"nothing": with(""), "another account": with(keep(t, "user.creds", credentials(t, key(t, nkeys.CreateAccount)))),
		"no file": with(ours + "x"),
	})
}

func key(t *testing.T, create func() (nkeys.KeyPair, error)) nkeys.KeyPair {
	t.Helper()
	pair, err := create()
	must(t, err)
	return pair
}

func publicKey(t *testing.T, pair nkeys.KeyPair) string {
	t.Helper()
	public, err := pair.PublicKey()
	must(t, err)
	return public
}

func credentials(t *testing.T, account nkeys.KeyPair) []byte {
	t.Helper()
	user := key(t, nkeys.CreateUser)
	text, err := jwt.NewUserClaims(publicKey(t, user)).Encode(account)
	must(t, err)
	seed, err := user.Seed()
	must(t, err)
	file, err := jwt.FormatUserConfig(text, seed)
	must(t, err)
	return file
}

// TestCertificates: a server that shows a certificate and asks for one admits who trusts
// the one and has the other.
func TestCertificates(t *testing.T) {
	t.Parallel()
	ours, another := newAuthority(t), newAuthority(t)
	cert, private := ours.issue(t, "server")
	pair, err := tls.X509KeyPair(cert, private)
	must(t, err)
	pool := x509.NewCertPool()
	pool.AddCert(ours.cert)
	srv := guardedServer(t, func(o *server.Options) {
		o.TLS, o.TLSVerify, o.TLSTimeout = true, true, 300
		o.TLSConfig = &tls.Config{
			Certificates: []tls.Certificate{pair}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12,
		}
	})
	with := func(trusts, from authority) natsbus.Options {
		cert, private := from.issue(t, "client")
		return natsbus.Options{URL: strings.Replace(srv.ClientURL(), "nats://", "tls://", 1), Remote: natsbus.Remote{
			CA:   keep(t, "ca.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: trusts.cert.Raw})),
			Cert: keep(t, "cert.pem", cert), Key: keep(t, "key.pem", private),
		}}
	}
	good := with(ours, ours)
	bare, half := good, good
	bare.Remote.Cert, bare.Remote.Key = "", ""
	half.Remote.Key = ""
	admits(t, good, map[string]natsbus.Options{
		"another authority of the server": with(another, ours), "another authority of the client": with(ours, another),
		"no certificate": bare, "no key": half, "nothing": {URL: srv.ClientURL()},
	})
}

// authority signs certificates of loopback.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) authority {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	must(t, err)
	cert, err := x509.ParseCertificate(raw)
	must(t, err)
	return authority{cert, private}
}

func (a authority) issue(t *testing.T, name string) (cert, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, a.cert, private.Public(), a.key)
	must(t, err)
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	must(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded})
}
