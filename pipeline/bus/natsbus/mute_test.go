package natsbus_test

import (
	"context"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/freshet/freshet/pipeline/bus/natsbus"
)

// forgetful is what stands between clients and a server, and forgets connections: neither
// side hears of the other again, and neither is told. New connections pass.
type forgetful struct {
	listener net.Listener
	server   string
	lives    atomic.Int64 // connections of an earlier life are forgotten
	group    sync.WaitGroup

	mu    sync.Mutex // guards conns
	conns []net.Conn
}

func newForgetful(t *testing.T, server string) *forgetful {
	t.Helper()
	f := &forgetful{server: server}
	var err error
	f.listener, err = net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	f.group.Go(f.accept)
	t.Cleanup(func() {
		_ = f.listener.Close()
		f.mu.Lock()
		for _, conn := range f.conns {
			_ = conn.Close()
		}
		f.mu.Unlock()
		f.group.Wait()
	})
	return f
}

func (f *forgetful) accept() {
	for {
		client, err := f.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", f.server)
		if err != nil {
			_ = client.Close()
			continue
		}
		f.mu.Lock()
		f.conns = append(f.conns, client, server)
		f.mu.Unlock()
		life := f.lives.Load()
		f.group.Go(func() { f.carry(life, client, server) })
		f.group.Go(func() { f.carry(life, server, client) })
	}
}

func (f *forgetful) carry(life int64, from, to net.Conn) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if err == nil && f.lives.Load() > life {
			_, _ = io.Copy(io.Discard, from) // until who sends gives up
			return
		}
		if err == nil {
			_, err = to.Write(buffer[:n])
		}
		if err != nil {
			_, _ = from.Close(), to.Close()
			return
		}
	}
}

// TestMuteConnection: a connection over which nothing comes any more is given up, and the
// next one serves.
func TestMuteConnection(t *testing.T) {
	t.Parallel()
	between := newForgetful(t, remoteServer(t).Addr().String())
	b := open(t, natsbus.Options{URL: "nats://" + between.listener.Addr().String()})
	defer func() { must(t, b.Close()) }()
	publishBatch(t, b, "before", 0, 1, 1)
	between.lives.Add(1)
	for range 60 {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		state, err := b.State(ctx)
		cancel()
		if err == nil {
			if state.Messages == 0 {
				t.Error("the log is empty")
			}
			return
		}
	}
	t.Error("a connection that is mute is still held on to after five minutes")
}
