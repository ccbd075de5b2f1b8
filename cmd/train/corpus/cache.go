package corpus

import (
	"context"
	"fmt"
	"os"
)

// Cache is a folder of fetched archives: KIND/NAME/VERSION/.
type Cache struct {
	Dir string
	// GOROOT is the Go distribution whose src is the source of kind Go.
	GOROOT string
}

// Fetch brings a source into the cache unless it is there, and checks it against its
// digest. Its error wraps ErrGone or ErrAltered when it is the source's.
func (c *Cache) Fetch(ctx context.Context, s Source) error {
	if _, err := c.archives(s); err != nil {
		if err := c.download(ctx, s); err != nil {
			return fmt.Errorf("fetch %s %s: %w", s, s.Version, err)
		}
	}
	digest, err := c.Digest(ctx, s)
	if err != nil {
		return fmt.Errorf("fetch %s %s: %w", s, s.Version, err)
	}
	if digest != s.Digest {
		return fmt.Errorf("fetch %s %s: %w: digest %s, want %s", s, s.Version, ErrAltered, digest, s.Digest)
	}
	return nil
}

// download runs the client of the source's ecosystem. A version of "" is the newest.
func (c *Cache) download(ctx context.Context, s Source) error {
	if s.Kind == Go {
		return nil
	}
	partial := c.folder(s) + ".part"
	if err := os.RemoveAll(partial); err != nil {
		return err
	}
	if err := os.MkdirAll(partial, 0o755); err != nil {
		return err
	}
	var err error
	switch s.Kind {
	case Debian:
		_, err = output(ctx, partial, "apt-get", "source", "--download-only", "--tar-only", "-qq", s.Name+"="+s.Version)
	case NPM:
		_, err = output(ctx, partial, "npm", "pack", "--silent", s.Name+"@"+s.Version)
	case Module:
		err = c.downloadModule(ctx, s, partial)
	default:
		err = fmt.Errorf("unknown kind %q", s.Kind)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrGone, err)
	}
	if err := os.RemoveAll(c.folder(s)); err != nil {
		return err
	}
	return os.Rename(partial, c.folder(s))
}
