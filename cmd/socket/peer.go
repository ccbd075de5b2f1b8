package socket

import (
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// peer returns who is at the other end of a connection on a data directory's socket, as the
// kernel knows it, and refuses any other user: neither end trusts what the other says
// otherwise. Of a host it is the process that listens. The id is 0 when the process is not
// visible from here.
func peer(conn net.Conn) (pid int, err error) {
	socket, ok := conn.(*net.UnixConn)
	if !ok {
		return 0, fmt.Errorf("%T is no Unix socket", conn)
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return 0, err
	}
	var who *unix.Ucred
	var asked error
	if err := raw.Control(func(fd uintptr) { who, asked = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); err != nil {
		return 0, err
	}
	if asked != nil {
		return 0, fmt.Errorf("ask who is at the other end: %w", asked)
	}
	if int(who.Uid) != os.Geteuid() {
		return int(who.Pid), fmt.Errorf("process %d at the other end belongs to user %d, this one to user %d", who.Pid, who.Uid, os.Geteuid())
	}
	return int(who.Pid), nil
}
