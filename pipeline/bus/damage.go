package bus

import "github.com/freshet/freshet/store"

// Damage compares what the store knows of the log with what the log says of itself. It
// returns "" when nothing speaks against the log, and else the first of these:
//
//	deleted         there is no log
//	recreated       the log is another one than the store knows
//	regressed       the log ends before a message that the store knows
//	gap             messages inside the log are missing that nobody purged
//	consumer_ahead  a consumer acknowledged more than the log has
//
// A log that is ahead of the store is no damage: a crash between publishing and recording
// leaves it so. A consumer that is missing or behind is none either: it is handed messages
// again, which changes nothing. When the store knows no incarnation, nothing is damaged.
func Damage(known store.LogPosition, s State) string {
	switch {
	case known.Incarnation == "":
		return ""
	case s.Incarnation == "":
		return "deleted"
	case s.Incarnation != known.Incarnation:
		return "recreated"
	case s.Last < known.Sequence:
		return "regressed"
	case s.Gap:
		return "gap"
	}
	for _, c := range s.Consumers {
		if c.AckFloor > s.Last {
			return "consumer_ahead"
		}
	}
	return ""
}
