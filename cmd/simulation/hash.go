package simulation

import (
	"crypto/sha256"

	"github.com/freshet/freshet/sync/merkle"
)

func hashOf(content string) merkle.Hash { return sha256.Sum256([]byte(content)) }
