// Package clustertest runs a NATS cluster in the process of a test.
package clustertest

import (
	"fmt"
	"log/slog"
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
	clients, routes := freePorts(t, size), freePorts(t, size)
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

// freePorts returns ports that were free a moment ago.
func freePorts(t testing.TB, n int) []int {
	t.Helper()
	ports := make([]int, n)
	for i := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it is closed at once
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		}()
		ports[i] = l.Addr().(*net.TCPAddr).Port
	}
	return ports
}
