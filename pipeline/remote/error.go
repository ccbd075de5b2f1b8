package remote

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
	"unicode"
)

// Fault classifies the cause of a failed exchange.
type Fault uint8

// The faults.
const (
	// FaultService: the service is unreachable, overloaded or broken; retry later.
	FaultService Fault = iota
	// FaultSettings: the address, the key or the model is wrong; the same request may succeed
	// once the operator has corrected it.
	FaultSettings
	// FaultRequest: the service refuses the request, and would again.
	FaultRequest
)

// Error is a failed exchange.
type Error struct {
	Host       string
	Status     int // of HTTP, 0 when there was no answer
	Fault      Fault
	RetryAfter time.Duration // as the service asked, 0 when it did not
	// Lost is set when the service may have done the work: the request was sent completely, and
	// no readable answer came back.
	Lost    bool
	Message string // one line, without the key
}

// Error names the host, the status and what the service said.
func (e *Error) Error() string {
	if e.Status == 0 {
		return fmt.Sprintf("%s: %s", e.Host, e.Message)
	}
	return fmt.Sprintf("%s: %d %s: %s", e.Host, e.Status, http.StatusText(e.Status), e.Message)
}

// reason returns in a few words why requests wait.
func (e *Error) reason() string {
	if e.Status == http.StatusTooManyRequests {
		return "it limits the rate of requests"
	}
	return "its last request failed: " + e.Error()
}

// The bounds of the delays that a service may ask for.
const (
	maxMessage    = 300
	maxRefusal    = 16 << 10
	maxRetryAfter = 10 * time.Minute
)

// refused turns an answer that is not 200 into an error.
func (s *Service) refused(response *http.Response) *Error {
	text, err := io.ReadAll(io.LimitReader(response.Body, maxRefusal))
	e := &Error{
		Host: s.Host(), Status: response.StatusCode, RetryAfter: s.retryAfter(response.Header, text),
		Lost: response.StatusCode == http.StatusBadGateway || response.StatusCode == http.StatusGatewayTimeout,
	}
	switch code := response.StatusCode; {
	case code == http.StatusTooManyRequests, code == http.StatusRequestTimeout, code == http.StatusConflict, code >= http.StatusInternalServerError:
		e.Fault = FaultService
	case code == http.StatusUnauthorized, code == http.StatusPaymentRequired, code == http.StatusForbidden,
		code == http.StatusNotFound, code == http.StatusMethodNotAllowed, code < http.StatusBadRequest:
		e.Fault = FaultSettings
	default:
		e.Fault = FaultRequest
	}
	if e.Message = oneLine(s.hide(string(text))); err != nil || e.Message == "" {
		e.Message = "no reason given"
	}
	if response.StatusCode < http.StatusBadRequest {
		e.Message = "redirects, which is not followed: give the address that it leads to"
	}
	return e
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
