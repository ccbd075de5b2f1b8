package mcpserver

import (
	"net"
	"sync"
)

// crowd is a listener that keeps at most so many connections open. Further ones wait in
// the queue of the system.
type crowd struct {
	net.Listener
	places chan struct{}
	closed chan struct{}
	once   sync.Once
}

func newCrowd(l net.Listener, most int) *crowd {
	return &crowd{Listener: l, places: make(chan struct{}, most), closed: make(chan struct{})}
}

// Accept waits for a place, then for a connection.
func (c *crowd) Accept() (net.Conn, error) {
	select {
	case c.places <- struct{}{}:
	case <-c.closed:
		return nil, net.ErrClosed
	}
	conn, err := c.Listener.Accept()
	if err != nil {
		<-c.places
		return nil, err
	}
	return &member{Conn: conn, leave: func() { <-c.places }}, nil
}

// Close stops listening. Open connections stay open.
func (c *crowd) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Listener.Close()
}

// member is a connection that gives its place back when it is closed.
type member struct {
	net.Conn
	leave func()
	once  sync.Once
}

// Close closes the connection.
func (m *member) Close() error {
	m.once.Do(m.leave)
	return m.Conn.Close()
}
