package doctor

import (
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/freshet/freshet/cmd/datadir"
	"github.com/freshet/freshet/mcp/tool"
)

// diagnoseSockets looks at what the host listens on.
func diagnoseSockets(home string) []tool.Finding {
	const check = "sockets"
	pid, held := datadir.Holder(home)
	if !held || pid == 0 {
		return nil
	}
	addresses, err := listening(pid)
	if err != nil {
		return []tool.Finding{poor(check, fmt.Sprintf("those of process %d cannot be listed: %v", pid, err), "")}
	}
	if len(addresses) == 0 {
		return []tool.Finding{good(check, "the host listens on its own socket only")}
	}
	var findings []tool.Finding
	for _, address := range addresses {
		if address.IP.IsLoopback() {
			findings = append(findings, good(check, "the host listens on "+address.String()))
			continue
		}
		findings = append(findings, poor(check, "other machines reach the host at "+address.String(),
			"its clients must present the token; without need, listen on 127.0.0.1"))
	}
	return findings
}

// stateListen is how the kernel writes that a TCP socket listens.
const stateListen = "0A"

// listening lists the TCP addresses that a process listens on.
func listening(pid int) ([]net.TCPAddr, error) {
	root := filepath.Join("/proc", strconv.Itoa(pid))
	files, err := os.ReadDir(filepath.Join(root, "fd"))
	if err != nil {
		return nil, err
	}
	var sockets []string
	for _, file := range files {
		if link, err := os.Readlink(filepath.Join(root, "fd", file.Name())); err == nil && strings.HasPrefix(link, "socket:[") {
			sockets = append(sockets, strings.TrimSuffix(strings.TrimPrefix(link, "socket:["), "]"))
		}
	}
	var addresses []net.TCPAddr
	for _, table := range []string{"tcp", "tcp6"} {
		data, err := os.ReadFile(filepath.Join(root, "net", table))
		if err != nil {
			continue // a system without that family
		}
		for line := range strings.Lines(string(data)) {
			fields := strings.Fields(line)
			if len(fields) < 10 || fields[3] != stateListen || !slices.Contains(sockets, fields[9]) {
				continue
			}
			address, err := kernelAddress(fields[1])
			if err != nil {
				return nil, err
			}
			addresses = append(addresses, address)
		}
	}
	return addresses, nil
}

// kernelAddress reads an address as /proc/net writes it: words of four bytes in the order
// of the machine, which is little-endian wherever freshet runs, and a port.
func kernelAddress(text string) (net.TCPAddr, error) {
	host, port, _ := strings.Cut(text, ":")
	ip, err := hex.DecodeString(host)
	if err != nil || len(ip)%4 != 0 {
		return net.TCPAddr{}, fmt.Errorf("%q is no address", text)
	}
	for word := range slices.Chunk(ip, 4) {
		slices.Reverse(word)
	}
	number, err := strconv.ParseUint(port, 16, 16)
	if err != nil {
		return net.TCPAddr{}, fmt.Errorf("%q is no address: %w", text, err)
	}
	return net.TCPAddr{IP: ip, Port: int(number)}, nil
}
