package natsbus

import (
	"fmt"
	"strings"

	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/store"
)

// subject returns the NATS subject of a codebase's lane.
func (b *Bus) subject(id store.CodebaseID, lane bus.Lane) string {
	return "freshet." + b.opts.Tenant + "." + string(id) + "." + string(lane)
}

// parseSubject undoes subject.
func (b *Bus) parseSubject(subject string) (store.CodebaseID, bus.Lane, error) {
	tokens := strings.Split(subject, ".")
	if len(tokens) != 4 || tokens[0] != "freshet" || tokens[1] != b.opts.Tenant {
		return "", "", fmt.Errorf("subject %q is not of this log", subject)
	}
	id, lane := store.CodebaseID(tokens[2]), bus.Lane(tokens[3])
	return id, lane, bus.CheckSubject(id, lane)
}
