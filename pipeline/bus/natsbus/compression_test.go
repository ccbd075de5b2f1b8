package natsbus

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/freshet/freshet/pipeline/bus"
)

func TestPack(t *testing.T) {
	t.Parallel()
	p, err := newCompressor()
	must(t, err)
	noise := make([]byte, 4000)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(noise)
	tests := []struct {
		name   string
		data   []byte
		packed bool
	}{
		{"empty", nil, false},
		{"short", []byte("text text text text"), false},
		{"text", bytes.Repeat([]byte("a path and its hash "), 400), true},
		{"noise", noise, false},
		{"the largest", make([]byte, bus.MaxMessage), true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			msg := &nats.Msg{Header: nats.Header{}}
			p.compress(msg, tt.data)
			if packed := msg.Header.Get(headerEncoding) != ""; packed != tt.packed {
				t.Errorf("packed %v, want %v", packed, tt.packed)
			}
			got, err := p.decompress(msg.Header.Get(headerEncoding), msg.Data)
			if err != nil || !bytes.Equal(got, tt.data) {
				t.Errorf("unpacked %d bytes (%v), want %d", len(got), err, len(tt.data))
			}
		})
	}
	for name, header := range map[string]nats.Header{
		"damaged": {headerEncoding: {encodingZstd}}, "unknown": {headerEncoding: {"lz"}},
	} {
		if _, err := p.decompress(header.Get(headerEncoding), []byte("not packed")); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
