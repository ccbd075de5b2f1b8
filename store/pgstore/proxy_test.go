package pgstore

import (
	"bytes"
	"io"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/errgroup"
)

// What a proxy does with the next commits that pass.
const (
	passCommits = iota
	loseAnswers // the server gets the commit, the client no answer
	loseCommits // the server never gets it
)

// proxy stands between a store and its server, and can lose commits.
type proxy struct {
	listener net.Listener
	server   string
	mode     atomic.Int32
	lose     atomic.Int32 // so many
	lost     atomic.Int32
	secret   atomic.Bool // what became of a commit cannot be asked

	mu    sync.Mutex // guards conns
	conns map[net.Conn]bool
	group errgroup.Group
}

// newProxy returns a proxy and the URL that leads through it.
func newProxy(t *testing.T, database string) (*proxy, string) {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{server: u.Host, conns: map[net.Conn]bool{}}
	if p.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	u.Host = p.listener.Addr().String()
	p.group.Go(p.accept)
	t.Cleanup(func() {
		p.stop()
		_ = p.group.Wait()
	})
	return p, u.String()
}

// stop refuses new connections and ends those that are there.
func (p *proxy) stop() {
	_ = p.listener.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	for conn := range p.conns {
		_ = conn.Close()
	}
}

func (p *proxy) accept() error {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return err
		}
		server, err := net.Dial("tcp", p.server)
		if err != nil {
			_ = client.Close()
			continue
		}
		p.mu.Lock()
		p.conns[client], p.conns[server] = true, true
		p.mu.Unlock()
		c := &channel{client: client, server: server}
		p.group.Go(func() error { return p.forward(c) })
		p.group.Go(func() error { return c.back() })
	}
}

// channel is a connection through the proxy. Once mute, no answer passes.
type channel struct {
	client, server net.Conn
	mute           atomic.Bool
}

// forward carries what the client sends.
func (p *proxy) forward(c *channel) error {
	defer func() { _ = c.server.Close() }()
	commit := []byte("commit\x00")
	buffer := make([]byte, 64<<10)
	for {
		n, err := c.client.Read(buffer)
		if err != nil {
			return err
		}
		if p.secret.Load() && bytes.Contains(buffer[:n], []byte("pg_xact_status")) {
			return c.client.Close()
		}
		mode := p.mode.Load()
		if mode != passCommits && bytes.Contains(buffer[:n], commit) && p.lose.Add(-1) >= 0 {
			p.lost.Add(1)
			if mode == loseCommits {
				return c.client.Close()
			}
			c.mute.Store(true)
		}
		if _, err := c.server.Write(buffer[:n]); err != nil {
			return err
		}
	}
}

// back carries the answers, and hangs up in the place of one that is lost.
func (c *channel) back() error {
	defer func() { _ = c.client.Close() }()
	buffer := make([]byte, 64<<10)
	for {
		n, err := c.server.Read(buffer)
		if err != nil || c.mute.Load() {
			return err
		}
		if _, err := io.Copy(c.client, bytes.NewReader(buffer[:n])); err != nil {
			return err
		}
	}
}
