package pipeline

import (
	"fmt"
	"slices"
)

// Role is a part of the work that a process may take on.
type Role string

// The roles.
const (
	RoleChunk Role = "chunk"
	RoleEmbed Role = "embed"
	// RoleApply seals, keeps the log and reconciles. Of the processes that have it, one at a
	// time does.
	RoleApply Role = "apply"
)

// Roles lists every role.
func Roles() []Role { return []Role{RoleChunk, RoleEmbed, RoleApply} }

// ParseRole returns the role of a name.
func ParseRole(name string) (Role, error) {
	if r := Role(name); slices.Contains(Roles(), r) {
		return r, nil
	}
	return "", fmt.Errorf("role %q: want chunk, embed or apply", name)
}

// Consumers are the names of the durable consumers that the work of the recipe needs,
// whichever process has them.
func (p *Pipeline) Consumers() []string { return p.consumerNames() }
