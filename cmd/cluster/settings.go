// Package cluster reads from the environment where a shared event log and a shared store
// are, opens both, and runs workers over them. Without such settings freshet keeps both in
// its data directory, and this package is not needed.
package cluster

import (
	"errors"
	"fmt"
	"strconv"
)

// Settings say where log and store are. The zero value means in the data directory.
type Settings struct {
	// NATS and Database are the URLs: both are set, or neither.
	NATS, Database string
	// Credentials, NKey, CA, Cert and Key are files; see natsbus.Remote.
	Credentials, NKey, CA, Cert, Key string
	// Replicas is how many servers keep the log; "" means 3 in a cluster.
	Replicas string
	// Role is the role of the database in which rows are read and written; "" means that of
	// the URL.
	Role string
	// Tenant is whose log and rows these are; "" means default.
	Tenant string
	// Place names the file system of this host: codebases of one place are synchronized by
	// its processes, whichever has the lease.
	Place string
}

// FromEnvironment reads the settings. The place is FRESHET_PLACE, else the host's name.
func FromEnvironment(getenv func(string) string, hostname string) Settings {
	s := Settings{
		NATS: getenv("FRESHET_NATS_URL"), Database: getenv("FRESHET_DATABASE_URL"),
		Credentials: getenv("FRESHET_NATS_CREDS"), NKey: getenv("FRESHET_NATS_NKEY"), CA: getenv("FRESHET_NATS_CA"),
		Cert: getenv("FRESHET_NATS_CERT"), Key: getenv("FRESHET_NATS_KEY"),
		Replicas: getenv("FRESHET_NATS_REPLICAS"), Role: getenv("FRESHET_DATABASE_ROLE"),
		Tenant: getenv("FRESHET_TENANT"), Place: getenv("FRESHET_PLACE"),
	}
	if s.Place == "" {
		s.Place = hostname
	}
	return s
}

// Shared reports whether log and store are elsewhere, as far as either is said to be.
func (s Settings) Shared() bool { return s.NATS != "" || s.Database != "" }

// Check returns what is wrong with settings that are to be shared.
func (s Settings) Check() error {
	switch {
	case s.NATS == "":
		return errors.New("FRESHET_DATABASE_URL is set and FRESHET_NATS_URL is not: a shared store needs a shared event log; set both or neither")
	case s.Database == "":
		return errors.New("FRESHET_NATS_URL is set and FRESHET_DATABASE_URL is not: a shared event log needs a shared store; set both or neither")
	case s.Place == "":
		return errors.New("this host has no name: set FRESHET_PLACE")
	case s.Credentials != "" && s.NKey != "":
		return errors.New("FRESHET_NATS_CREDS and FRESHET_NATS_NKEY are both set: set one of them")
	case (s.Cert == "") != (s.Key == ""):
		return errors.New("set both FRESHET_NATS_CERT and FRESHET_NATS_KEY, or neither")
	}
	_, err := s.replicas()
	return err
}

func (s Settings) replicas() (int, error) {
	if s.Replicas == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(s.Replicas)
	if err != nil || n < 1 || n > 5 || n%2 == 0 {
		return 0, fmt.Errorf("FRESHET_NATS_REPLICAS is %q: want 1, 3 or 5", s.Replicas)
	}
	return n, nil
}
