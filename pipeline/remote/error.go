package remote

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Fault says whose fault it is that an exchange failed.
type Fault uint8

// The faults.
const (
	// FaultService: the service is away, overloaded or broken, and may answer later.
	FaultService Fault = iota
	// FaultSettings: the address, the key or the model is wrong; the same request may be
	// answered once the operator has put it right.
	FaultSettings
	// FaultRequest: the service refuses what was sent, and would again.
	FaultRequest
)

// Error is a failed exchange.
type Error struct {
	Host       string
	Status     int // of HTTP, 0 when there was no answer
	Fault      Fault
	RetryAfter time.Duration // as the service asked, 0 when it did not
	Message    string        // one line, without the key
}

// Error names the host, the status and what the service said.
func (e *Error) Error() string {
	if e.Status == 0 {
		return fmt.Sprintf("%s: %s", e.Host, e.Message)
	}
	return fmt.Sprintf("%s: %d %s: %s", e.Host, e.Status, http.StatusText(e.Status), e.Message)
}

// The bounds of what is believed of a refusal.
const (
	maxMessage    = 300
	maxRetryAfter = 10 * time.Minute
)

// refused turns an answer that is not 200 into an error.
func (s *Service) refused(response *http.Response) error {
	e := &Error{Host: s.Host(), Status: response.StatusCode, RetryAfter: s.retryAfter(response.Header)}
	switch code := response.StatusCode; {
	case code == http.StatusTooManyRequests, code == http.StatusRequestTimeout, code == http.StatusConflict, code >= http.StatusInternalServerError:
		e.Fault = FaultService
	case code == http.StatusUnauthorized, code == http.StatusPaymentRequired, code == http.StatusForbidden,
		code == http.StatusNotFound, code == http.StatusMethodNotAllowed, code < http.StatusBadRequest:
		e.Fault = FaultSettings
	default:
		e.Fault = FaultRequest
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, 4<<10))
	if e.Message = oneLine(s.hide(string(text))); err != nil || e.Message == "" {
		e.Message = "no reason given"
	}
	if response.StatusCode < http.StatusBadRequest {
		e.Message = "redirects, which is not followed: give the address that it leads to"
	}
	return e
}

// retryAfter reads Retry-After (RFC 9110, section 10.2.3): seconds or a date.
func (s *Service) retryAfter(h http.Header) time.Duration {
	value := strings.TrimSpace(h.Get("Retry-After"))
	var after time.Duration
	if seconds, err := strconv.ParseFloat(value, 64); err == nil && seconds >= 0 {
		after = time.Duration(min(seconds, maxRetryAfter.Seconds()) * float64(time.Second))
	} else if date, err := http.ParseTime(value); err == nil {
		after = date.Sub(s.now())
	}
	return min(max(after, 0), maxRetryAfter)
}

// oneLine makes a text of a service safe to show in a message.
func oneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > maxMessage {
		text = strings.ToValidUTF8(text[:maxMessage], "") + "..."
	}
	return text
}
