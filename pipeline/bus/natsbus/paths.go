package natsbus

import (
	"path/filepath"
	"strings"

	"github.com/nats-io/nats-server/v2/server"
)

// escape quotes the special characters of a path for filepath.Glob.
func escape(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// streamsDir returns the directory of the streams of the server's only account.
func streamsDir(dir string) string {
	return filepath.Join(dir, server.JetStreamStoreDir, "$G", "streams")
}
