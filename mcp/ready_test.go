package mcpserver

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestReadyPage: whether calls can be answered is told without the token, and not to other
// people's pages; health says that the process runs, whatever readiness says.
func TestReadyPage(t *testing.T) {
	t.Parallel()
	var away atomic.Bool
	s := newSite(t, Options{Now: ticking(), Ready: func(context.Context) error {
		if away.Load() {
			return errors.New("the store does not answer")
		}
		return nil
	}}, HTTPOptions{Token: "correct horse battery"})
	if status, body := s.get("/readyz", nil); status != http.StatusOK || body != "ready\n" {
		t.Errorf("ready: %d %s", status, body)
	}
	away.Store(true)
	if status, body := s.get("/readyz", nil); status != http.StatusServiceUnavailable || !strings.Contains(body, "the store does not answer") {
		t.Errorf("away: %d %s", status, body)
	}
	if status, _ := s.get("/healthz", nil); status != http.StatusOK {
		t.Errorf("health: %d", status)
	}
	if status, _ := s.get("/readyz", map[string]string{"Host": "evil.example"}); status != http.StatusForbidden {
		t.Errorf("a foreign host: %d", status)
	}
	away.Store(false)
	if status, _ := s.get("/readyz", nil); status != http.StatusOK {
		t.Errorf("back: %d", status)
	}
	if status, _ := newSite(t, Options{}, HTTPOptions{}).get("/readyz", nil); status != http.StatusOK {
		t.Errorf("a server that nobody asks: %d", status)
	}
}

// ticking is a clock on which every look is readyLasts and more after the one before.
func ticking() func() time.Time {
	var looks atomic.Int64
	return func() time.Time { return time.Unix(0, 0).Add(time.Duration(looks.Add(1)) * 2 * readyLasts) }
}

// TestReadyIsAskedOnce: many who ask at once cost one question, and none of them waits for
// longer than readyWait for it.
func TestReadyIsAskedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		answer := make(chan error)
		r := newReadiness(Options{Now: time.Now, Ready: func(context.Context) error {
			asked.Add(1)
			return <-answer
		}})
		const askers = 10
		told := make(chan error, askers)
		for range askers {
			go func() { told <- r.learn(t.Context()) }()
		}
		synctest.Wait()
		answer <- nil
		for range askers {
			if err := <-told; err != nil {
				t.Error(err)
			}
		}
		if n := asked.Load(); n != 1 {
			t.Errorf("%d were asked for %d", n, askers)
		}
		time.Sleep(2 * readyLasts)
		first := make(chan error)
		go func() { first <- r.learn(t.Context()) }()
		synctest.Wait()
		began := time.Now()
		if err := r.learn(t.Context()); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != readyWait {
			t.Errorf("behind one that is silent: %v after %s", err, time.Since(began))
		}
		answer <- nil
		if err := <-first; err != nil || asked.Load() != 2 {
			t.Errorf("later: %v, asked %d times", err, asked.Load())
		}
	})
}
