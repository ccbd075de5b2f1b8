package scan

import (
	"errors"

	"golang.org/x/sys/unix"
)

// interfere is the fault injection of tests: it fails an operation or changes the disk before
// it.
func (k *worker) interfere(op, path string) error { return k.scanner.interfere(op, path) }

// exhausted reports whether an error is a lack of resources of this process and no property
// of the file.
func exhausted(err error) bool {
	return errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) || errors.Is(err, unix.ENOMEM)
}

// interfere lets a test fail an operation or change the disk right before it.
func (s *Scanner) interfere(op, path string) error {
	if s.fault == nil {
		return nil
	}
	return s.fault(op, path)
}
