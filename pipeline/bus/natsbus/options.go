package natsbus

import (
	"fmt"
	"log/slog"
	"time"
)

// Options of Open. Dir or URL must be given.
type Options struct {
	// Dir is the directory of the embedded server's files. It is created when missing.
	Dir string
	// URL is a remote server, or several of one cluster separated by commas; each may
	// contain a user and password, or a token. When it is set there is no embedded server.
	URL string
	// Remote configures the connection to a remote server.
	Remote Remote
	// Tenant is the token in subjects and stream names, of [a-z0-9]; "" means default.
	Tenant string
	// RelaxedSync lets the embedded server sync its files periodically instead of after every
	// write: a power cut may lose acknowledged messages. It is for tests.
	RelaxedSync bool
	// MaxBytes is the size at which the log refuses messages; 0 means 1 GiB.
	MaxBytes int64
	// AckWait is the default of consumers; 0 means 30 s.
	AckWait time.Duration
	// Now is the clock for names and stamps; nil means time.Now.
	Now func() time.Time
	Log *slog.Logger // nil means discard
}

// Remote configures the connection to a remote server. The zero value works where neither
// credentials nor certificates are needed.
type Remote struct {
	// Credentials is a file with a user's JWT and seed, NKey one with a user's seed alone.
	Credentials, NKey string
	// CA is a file with the certificates of the server's authority; Cert and Key are files with
	// the client's certificate and its key. All are in PEM.
	CA, Cert, Key string
	// Replicas is the number of replicas of the streams; 0 means 3 in a cluster, else 1.
	Replicas int
}

// OpenReport says what Open found.
type OpenReport struct {
	// Recreated is set when the files could not be read and the log was recreated.
	Recreated bool
	// Reason says why.
	Reason string
	// MovedTo is where the damaged files are kept.
	MovedTo string
}

func (o Options) withDefaults() (Options, error) {
	if (o.Dir == "") == (o.URL == "") {
		return o, fmt.Errorf("either a directory or a URL is needed")
	}
	if o.Tenant == "" {
		o.Tenant = "default"
	}
	for _, c := range []byte(o.Tenant) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return o, fmt.Errorf("tenant %q is not of [a-z0-9]", o.Tenant)
		}
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = 1 << 30
	}
	if o.AckWait == 0 {
		o.AckWait = 30 * time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o, nil
}
