// Package clustertest runs a NATS cluster in the process of a test.
package clustertest

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"strings"
	"testing"

	"github.com/freshet/freshet/pipeline/bus/natsserver"
)

// Cluster is a number of servers on loopback. It ends with the test.
type Cluster struct {
	t       testing.TB
	options []natsserver.Options
	servers []*natsserver.Server
}

// Start starts a cluster. One of a single server is none: it needs no elections, and is
// there at once.
func Start(t testing.TB, size int) *Cluster {
	t.Helper()
	ports := FreePorts(t, 2*size)
	clients, routes := ports[:size], ports[size:]
	c := &Cluster{t: t, servers: make([]*natsserver.Server, size)}
	var addresses []string
	for _, port := range routes {
		addresses = append(addresses, fmt.Sprintf("127.0.0.1:%d", port))
	}
	dir := t.TempDir()
	for i := range size {
		o := natsserver.Options{
			Name: fmt.Sprintf("n%d", i+1), Dir: fmt.Sprintf("%s/n%d", dir, i+1), Port: clients[i],
			RelaxedSync: true, Log: slog.New(slog.DiscardHandler),
		}
		if size > 1 {
			o.Cluster, o.ClusterPort, o.Routes = "freshet-test", routes[i], addresses
		}
		c.options = append(c.options, o)
	}
	t.Cleanup(func() {
		for i := range size {
			c.Stop(i)
		}
	})
	for i := range size {
		c.Restart(i)
	}
	return c
}

// URL lists the addresses of all servers.
func (c *Cluster) URL() string {
	var urls []string
	for _, o := range c.options {
		urls = append(urls, fmt.Sprintf("nats://127.0.0.1:%d", o.Port))
	}
	return strings.Join(urls, ",")
}

// Stop stops a server, if it runs.
func (c *Cluster) Stop(i int) {
	c.t.Helper()
	if c.servers[i] == nil {
		return
	}
	if err := c.servers[i].Close(); err != nil {
		c.t.Error(err)
	}
	c.servers[i] = nil
}

// Restart starts a server that was stopped, over the files that it left.
func (c *Cluster) Restart(i int) {
	c.t.Helper()
	var err error
	if c.servers[i], err = natsserver.Start(c.options[i]); err != nil {
		c.t.Fatal(err)
	}
}

// The ports for servers lie below those that systems give to connections that go out: one of
// those would keep a server from coming back to its port.
const (
	lowestPort  = 10_000
	highestPort = 30_000
)

// FreePorts returns ports of loopback that were free a moment ago, which no connection that
// goes out takes meanwhile.
func FreePorts(t testing.TB, n int) []int {
	t.Helper()
	var ports []int
	for tries := 0; len(ports) < n; tries++ {
		port := lowestPort + rand.IntN(highestPort-lowestPort)         //nolint:gosec // no secret
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)) //nolint:noctx // it is closed at once
		if err != nil && tries > 1000 {
			t.Fatal(err)
		}
		if err != nil {
			continue
		}
		ports = append(ports, port)
		defer func() {
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		}()
	}
	return ports
}
