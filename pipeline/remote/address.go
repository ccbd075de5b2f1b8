package remote

import (
	"errors"
	"net"
	"net/url"
	"strings"
)

// Host names the service, for messages.
func (s *Service) Host() string { return s.base.Host }

// hide removes the key from a text of the service.
func (s *Service) hide(text string) string {
	if s.key == "" {
		return text
	}
	return strings.ReplaceAll(text, s.key, "(key)")
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Local reports whether the service is on this machine, so that nothing leaves it.
func (s *Service) Local() bool { return loopback(s.base.Hostname()) }

// strip removes the URL from an error of the HTTP client: Error names the host already.
func strip(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
