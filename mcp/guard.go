package mcpserver

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"
)

// guard refuses cross-site requests: those for a host name that is not the server's, as after
// DNS rebinding, and those of another origin.
func (s *Server) guard(o HTTPOptions, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		if reason := o.foreign(r); reason != "" {
			s.metrics.refuse(reason)
			http.Error(w, "refused: foreign "+reason, http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// RefuseForeign refuses cross-site requests at a loopback address, as Server does: those for
// a host name that is not of this machine, and those of another origin. Requests to an
// address that other machines reach are passed on, since it may have any name: next must
// require a token there.
func RefuseForeign(address string, next http.Handler) http.Handler {
	o := HTTPOptions{Address: address}
	host, _, err := net.SplitHostPort(address)
	if err != nil || !loopback(host) {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if reason := o.foreign(r); reason != "" {
			http.Error(w, "refused: foreign "+reason, http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// foreign returns why a request is cross-site, "" when it is not.
func (o HTTPOptions) foreign(r *http.Request) string {
	if !o.ours(hostName(r.Host)) {
		return "host"
	}
	if origins := r.Header.Values("Origin"); len(origins) > 1 || (len(origins) == 1 && !sameOrigin(origins[0], r.Host)) {
		return "origin"
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "none", "same-origin":
		return ""
	}
	return "origin"
}

// ours reports whether clients may reach the server by a host name. A server that listens on
// more than loopback may also be reached by IP addresses, which cannot be rebound.
func (o HTTPOptions) ours(name string) bool {
	if loopback(name) || slices.ContainsFunc(o.Names, func(known string) bool { return strings.EqualFold(known, name) }) {
		return true
	}
	listening, _, err := net.SplitHostPort(o.Address)
	return err == nil && !loopback(listening) && net.ParseIP(name) != nil
}

func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return strings.ToLower(name)
	}
	return strings.ToLower(strings.Trim(host, "[]"))
}

func sameOrigin(origin, host string) bool {
	u, err := url.Parse(origin)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && strings.EqualFold(u.Host, host)
}

// bounded reads the whole body of a protocol request, of limited size, before it is handled.
// Compressed bodies are refused, since their decoded size is not limited.
func (s *Server) bounded(o HTTPOptions, next http.Handler) http.Handler {
	refuse := func(w http.ResponseWriter, reason, message string, status int) {
		s.metrics.refuse(reason)
		w.Header().Set("Connection", "close")
		http.Error(w, message, status)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if encoding := r.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
			refuse(w, "encoding", "encoded bodies are not read", http.StatusUnsupportedMediaType)
			return
		}
		body, err := readBody(w, r, o)
		var large *http.MaxBytesError
		switch {
		case errors.As(err, &large):
			refuse(w, "body", "the request is too large", http.StatusRequestEntityTooLarge)
			return
		case errors.Is(err, os.ErrDeadlineExceeded):
			refuse(w, "slow", "the request came too slowly", http.StatusRequestTimeout)
			return
		case err != nil:
			refuse(w, "body", "the request could not be read", http.StatusBadRequest)
			return
		}
		if r.Method == http.MethodPost {
			if err := checkMessage(body); err != nil {
				refuse(w, "message", err.Error(), http.StatusBadRequest)
				return
			}
			if bytes.HasPrefix(bytes.TrimSpace(body), []byte("[")) {
				refuse(w, "message", errBatch.Error(), http.StatusBadRequest)
				return
			}
		}
		exact := newExactNumbers()
		if protected := exact.in(body); !bytes.Equal(protected, body) {
			restored := &exactWriter{ResponseWriter: w, exact: exact}
			defer restored.end()
			w, body = restored, protected
			r.ContentLength = int64(len(body))
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, withRequest(r))
	})
}

func readBody(w http.ResponseWriter, r *http.Request, o HTTPOptions) ([]byte, error) {
	control := http.NewResponseController(w)
	if err := control.SetReadDeadline(time.Now().Add(o.Patience)); err != nil {
		return nil, err
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, o.MaxBody))
	if err != nil {
		return nil, err
	}
	return body, control.SetReadDeadline(time.Time{})
}

// withReadDeadline bounds the time in which a client must send the body of a request.
func withReadDeadline(patience time.Duration, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := http.NewResponseController(w).SetReadDeadline(time.Now().Add(patience)); err != nil {
			http.Error(w, "the request could not be read", http.StatusBadRequest)
			return
		}
		w.Header().Set("Connection", "close") // the deadline stays with the connection
		next(w, r)
	}
}

// withWriteDeadline bounds the time in which a client must accept each write of a response.
func withWriteDeadline(patience time.Duration, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(&deadlineWriter{w, http.NewResponseController(w), patience}, r)
	})
}

type deadlineWriter struct {
	http.ResponseWriter
	control  *http.ResponseController
	patience time.Duration
}

// Write writes data within the deadline.
func (w *deadlineWriter) Write(data []byte) (int, error) {
	if err := w.control.SetWriteDeadline(time.Now().Add(w.patience)); err != nil {
		return 0, err
	}
	return w.ResponseWriter.Write(data)
}

// FlushError sends what was written.
func (w *deadlineWriter) FlushError() error {
	if err := w.control.SetWriteDeadline(time.Now().Add(w.patience)); err != nil {
		return err
	}
	return w.control.Flush()
}

// Unwrap is for http.ResponseController.
func (w *deadlineWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
