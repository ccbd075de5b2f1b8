package main

import (
	"net"
	"sync"
	"testing"
	"time"
)

// relay stands between clients and a server, and can be made to fail as networks do.
type relay struct {
	listener net.Listener
	server   string
	ended    chan struct{} // closed at the end of the test
	group    sync.WaitGroup

	mu      sync.Mutex // guards what follows
	refuses bool
	open    chan struct{} // closed while bytes pass
	conns   map[net.Conn]bool
}

func newRelay(t *testing.T, server string) *relay {
	t.Helper()
	r := &relay{server: server, ended: make(chan struct{}), open: make(chan struct{}), conns: map[net.Conn]bool{}}
	close(r.open)
	var err error
	if r.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	r.group.Go(r.accept)
	t.Cleanup(func() {
		close(r.ended)
		_ = r.listener.Close()
		r.cut()
		r.group.Wait()
	})
	return r
}

func (r *relay) address() string { return r.listener.Addr().String() }

// pass lets everything through, what was held back first.
func (r *relay) pass() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refuses = false
	select {
	case <-r.open:
	default:
		close(r.open)
	}
}

// hold holds back every byte, without a word to anybody.
func (r *relay) hold() {
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-r.open:
		r.open = make(chan struct{})
	default: // it does so already
	}
}

// refuse ends every connection, and new ones at once.
func (r *relay) refuse() {
	r.mu.Lock()
	r.refuses = true
	r.mu.Unlock()
	r.cut()
}

// cut ends every connection; new ones pass.
func (r *relay) cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for conn := range r.conns {
		_ = conn.Close()
	}
	clear(r.conns)
}

func (r *relay) accept() {
	for {
		client, err := r.listener.Accept()
		if err != nil {
			return
		}
		r.mu.Lock()
		refuses := r.refuses
		r.mu.Unlock()
		if refuses {
			_ = client.Close()
			continue
		}
		server, err := net.DialTimeout("tcp", r.server, 5*time.Second)
		if err != nil {
			_ = client.Close()
			continue
		}
		r.mu.Lock()
		if r.refuses { // since it was looked at
			r.mu.Unlock()
			_, _ = client.Close(), server.Close()
			continue
		}
		r.conns[client], r.conns[server] = true, true
		r.mu.Unlock()
		r.group.Go(func() { r.carry(client, server) })
		r.group.Go(func() { r.carry(server, client) })
	}
}

// carry moves bytes while they pass, until either side ends.
func (r *relay) carry(from, to net.Conn) {
	defer func() { _, _ = from.Close(), to.Close() }()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if n == 0 || err != nil {
			return
		}
		r.mu.Lock()
		open := r.open
		r.mu.Unlock()
		select {
		case <-open:
		case <-r.ended:
			return
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// relays are the relays in front of one service.
type relays []*relay

func (all relays) each(do func(r *relay)) {
	for _, r := range all {
		do(r)
	}
}
