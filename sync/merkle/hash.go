package merkle

import (
	"encoding/hex"
	"fmt"
)

// Hash is a SHA-256 digest. For a file it is the digest of its bytes and names its
// content; for a directory it covers the canonical encoding of its entries.
type Hash [32]byte

// IsZero reports whether h is the zero value, which names nothing.
func (h Hash) IsZero() bool { return h == Hash{} }

// String returns the 64 lower-case hexadecimal digits of h.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// Short returns the first 12 hexadecimal digits of h, for people.
func (h Hash) Short() string { return hex.EncodeToString(h[:6]) }

// MarshalText encodes h as hexadecimal digits, so that it is readable in JSON.
func (h Hash) MarshalText() ([]byte, error) {
	return hex.AppendEncode(nil, h[:]), nil
}

// UnmarshalText decodes what MarshalText wrote and refuses any other length.
func (h *Hash) UnmarshalText(text []byte) error {
	parsed, err := ParseHash(string(text))
	if err != nil {
		return err
	}
	*h = parsed
	return nil
}

// ParseHash reads 64 hexadecimal digits.
func ParseHash(s string) (Hash, error) {
	var h Hash
	if len(s) != 2*len(h) {
		return Hash{}, fmt.Errorf("parse hash: %d digits, want %d", len(s), 2*len(h))
	}
	if _, err := hex.Decode(h[:], []byte(s)); err != nil {
		return Hash{}, fmt.Errorf("parse hash: %w", err)
	}
	return h, nil
}
