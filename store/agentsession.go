package store

import "time"

// Session is what an agent was shown, as whoever shows it writes it down. It ends at
// Until, unless it is put again with a later time.
type Session struct {
	ID    string
	Until time.Time
	Body  []byte
}
