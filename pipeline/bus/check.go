package bus

import (
	"fmt"

	"github.com/freshet/freshet/store"
)

// MaxMessage is the most bytes of one message, its ID included. An event is at most half.
const MaxMessage = 512 << 10

// Lanes lists every lane.
func Lanes() []Lane {
	return []Lane{LaneSync, LaneChunk, LaneEmbed, LaneApply, LaneBulk, LaneBulkChunk}
}

// CheckBatch refuses what no bus publishes: nothing at all, messages of several lanes,
// names that cannot stand in a subject, an ID missing or twice, and what is too large.
func CheckBatch(messages []Message) error {
	if len(messages) == 0 {
		return fmt.Errorf("no messages")
	}
	if len(messages) > MaxBatch {
		return fmt.Errorf("%w: %d messages, at most %d", ErrTooLarge, len(messages), MaxBatch)
	}
	first := messages[0]
	if err := CheckSubject(first.Codebase, first.Lane); err != nil {
		return err
	}
	seen := make(map[string]bool, len(messages))
	for _, m := range messages {
		switch {
		case m.Codebase != first.Codebase || m.Lane != first.Lane:
			return fmt.Errorf("messages of %s/%s and %s/%s in one batch", first.Codebase, first.Lane, m.Codebase, m.Lane)
		case !validID(m.ID):
			return fmt.Errorf("message id %q: want 1 to 256 printable characters", m.ID)
		case seen[m.ID]:
			return fmt.Errorf("message id %q twice", m.ID)
		case len(m.ID)+len(m.Data) > MaxMessage:
			return fmt.Errorf("%w: %s has %d bytes, at most %d", ErrTooLarge, m.ID, len(m.ID)+len(m.Data), MaxMessage)
		}
		seen[m.ID] = true
	}
	return nil
}

// CheckSubject wants a codebase of [a-z0-9] and a lane that exists.
func CheckSubject(id store.CodebaseID, lane Lane) error {
	if !validToken(string(id), "") {
		return fmt.Errorf("codebase %q is not of [a-z0-9]", id)
	}
	for _, known := range Lanes() {
		if lane == known {
			return nil
		}
	}
	return fmt.Errorf("unknown lane %q", lane)
}

// CheckConsumer wants a name of [a-z0-9_-] and lanes that exist, at least one.
func CheckConsumer(c Consumer) error {
	if !validToken(c.Name, "_-") {
		return fmt.Errorf("consumer %q is not of [a-z0-9_-]", c.Name)
	}
	if len(c.Lanes) == 0 {
		return fmt.Errorf("consumer %s has no lanes", c.Name)
	}
	for _, lane := range c.Lanes {
		if err := CheckSubject("any", lane); err != nil {
			return fmt.Errorf("consumer %s: %w", c.Name, err)
		}
	}
	return nil
}

func validToken(s, more string) bool {
	for _, c := range []byte(s) {
		plain := (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')
		for i := 0; !plain && i < len(more); i++ {
			plain = c == more[i]
		}
		if !plain {
			return false
		}
	}
	return s != "" && len(s) <= 64
}

func validID(id string) bool {
	for _, c := range []byte(id) {
		if c <= ' ' || c > '~' {
			return false
		}
	}
	return id != "" && len(id) <= 256
}
