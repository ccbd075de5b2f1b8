//go:build !linux

package chunk

import "errors"

// sandboxLayers lists what confines a child: nothing but its empty environment, on a system whose
// kernel cannot be asked.
func sandboxLayers() []sandboxLayer {
	return []sandboxLayer{{"sandbox", func() error { return errors.New("only Linux has one") }}}
}
