// Package natsserver runs one server of a NATS cluster with JetStream inside this process,
// for machines that have no NATS of their own: development, tests, and the topology that
// runs from the one binary. It syncs every write. Package natsbus is its client.
package natsserver

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Options of Start. Dir and Name are required.
type Options struct {
	// Name is the server's name in the cluster, Dir the directory of its files.
	Name, Dir string
	// Host is the address to listen on; "" means 127.0.0.1.
	Host string
	// Port is the port for clients; 0 means any free one.
	Port int
	// Advertise is the HOST:PORT that clients are told to connect to; "" means the listening
	// address. It is for a server behind a relay.
	Advertise string
	// Cluster is the name of the cluster; "" means none. ClusterPort is the port for the
	// other servers, and Routes are the addresses of all servers, HOST:PORT, this one's
	// included.
	Cluster     string
	ClusterPort int
	Routes      []string
	// RelaxedSync lets the server sync its files periodically instead of after every write.
	// It is for tests.
	RelaxedSync bool
	Log         *slog.Logger // nil means discard
}

// Server is a running server.
type Server struct{ srv *server.Server }

// startWait bounds how long a server may take to listen.
const startWait = 2 * time.Minute

// The limits of JetStream and of a message in bytes.
const (
	maxMemory  = 256 << 20
	maxStore   = 1 << 40
	maxPayload = 1 << 20
)

// Start starts a server and returns when it accepts clients. It does not wait for the cluster
// to elect a leader.
func Start(o Options) (*Server, error) {
	if o.Host == "" {
		o.Host = "127.0.0.1"
	}
	if o.Port == 0 {
		o.Port = server.RANDOM_PORT
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	options := &server.Options{
		ServerName: o.Name, Host: o.Host, Port: o.Port, ClientAdvertise: o.Advertise, NoSigs: true, MaxPayload: maxPayload,
		JetStream: true, StoreDir: o.Dir, SyncAlways: !o.RelaxedSync,
		JetStreamMaxMemory: maxMemory, JetStreamMaxStore: maxStore, DisableJetStreamBanner: true,
	}
	if o.Cluster != "" {
		options.Cluster = server.ClusterOpts{Name: o.Cluster, Host: o.Host, Port: o.ClusterPort}
		for _, address := range o.Routes {
			options.Routes = append(options.Routes, &url.URL{Scheme: "nats-route", Host: address})
		}
	}
	srv, err := server.NewServer(options)
	if err != nil {
		return nil, fmt.Errorf("make server %s: %w", o.Name, err)
	}
	srv.SetLoggerV2(logger{o.Log.With("server", o.Name)}, false, false, false)
	srv.Start()
	s := &Server{srv}
	if !srv.ReadyForConnections(startWait) {
		return nil, errors.Join(fmt.Errorf("server %s does not accept clients", o.Name), s.Close())
	}
	return s, nil
}

// URL returns the address for clients.
func (s *Server) URL() string { return s.srv.ClientURL() }

// Close stops the server. It may be called twice.
func (s *Server) Close() error {
	s.srv.Shutdown()
	s.srv.WaitForShutdown()
	return nil
}

// logger passes on what the server logs.
type logger struct{ log *slog.Logger }

func (l logger) Noticef(format string, v ...any) { l.log.Debug(fmt.Sprintf(format, v...)) }
func (l logger) Warnf(format string, v ...any)   { l.log.Debug(fmt.Sprintf(format, v...)) }
func (l logger) Fatalf(format string, v ...any)  { l.log.Error(fmt.Sprintf(format, v...)) }
func (l logger) Errorf(format string, v ...any)  { l.log.Warn(fmt.Sprintf(format, v...)) }
func (l logger) Debugf(string, ...any)           {}
func (l logger) Tracef(string, ...any)           {}
