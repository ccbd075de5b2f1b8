package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"

	"github.com/freshet/freshet/cmd/advice"
	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
	"github.com/freshet/freshet/sync/scan"
)

// The permission bits of a data directory that let others change what is in it.
const (
	writableByOthers = 0o002
	writableByGroup  = 0o020
)

// Ensure makes a data directory, readable for this user only, or checks the one that is
// there.
func Ensure(home string) error {
	if err := os.MkdirAll(home, 0o700); err != nil {
		return fmt.Errorf("make data directory: %w", err)
	}
	return Check(home)
}

// Check refuses a data directory that another user owns or may write to: its files, its
// socket and its token would be that user's choice. An empty directory of this user, which a
// umask may have left to the group, is taken over by closing it to others. One that does not
// exist is none to refuse.
func Check(home string) error {
	info, err := os.Stat(home)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("inspect data directory: %w", err)
	}
	if !info.IsDir() {
		return nil // whoever opens it says so
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(stat.Uid) != os.Geteuid() {
		return refusedHome(home, "belongs to another user", "shows whose it is; run freshet as that user, or choose another --home", "ls -ld ")
	}
	mode := info.Mode().Perm()
	if mode&(writableByOthers|writableByGroup) == 0 {
		return nil
	}
	if mode&writableByOthers == 0 {
		if taken, err := takeOver(home); taken || err != nil {
			return err
		}
	}
	return refusedHome(home, fmt.Sprintf("may be written to by other users (%s), so what is in it cannot be trusted", mode),
		"closes it to others, when everything in it is yours; else choose another --home", "chmod 700 ")
}

// takeOver closes an empty directory to others, and reports whether it still held nothing
// then. One that holds something stays as it is.
func takeOver(home string) (bool, error) {
	entries, err := os.ReadDir(home)
	if err != nil || len(entries) > 0 {
		return false, err
	}
	if err := os.Chmod(home, 0o700); err != nil { //nolint:gosec // a directory
		return false, fmt.Errorf("close data directory to others: %w", err)
	}
	entries, err = os.ReadDir(home)
	return len(entries) == 0, err
}

func refusedHome(home, what, why, line string) error {
	e := tool.Errorf(tool.CodePermissionDenied, "the data directory %s %s", merkle.QuotePath(home), what)
	return e.Next(advice.Command(line+tool.ShellWord(home), why))
}

// markHome puts the marker into a data directory by which every scan knows it.
func markHome(home string) error {
	path := filepath.Join(home, scan.DataMarker)
	if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
		return nil
	}
	const text = "This directory is the data of freshet. It holds copies of source code and keys, and is never indexed.\n"
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return fmt.Errorf("mark data directory: %w", err)
	}
	_, err = file.WriteString(text)
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("mark data directory: %w", err)
	}
	return nil
}

// identityOf returns the device and inode of the directory at a path, whatever links lead
// there; ok is false when there is none.
func identityOf(dir string) (id store.RootIdentity, ok bool) {
	info, err := os.Stat(dir)
	if err != nil {
		return id, false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return id, false
	}
	return store.RootIdentity{Device: uint64(stat.Dev), Inode: stat.Ino}, true //nolint:unconvert // int32 on some
}

// ScanOptions are those of every scan and read of a tree by a process with a data
// directory, which is no part of a tree wherever it lies.
func ScanOptions(home string, log *slog.Logger) scan.Options {
	options := scan.Options{Log: log}
	if id, ok := identityOf(home); ok {
		options.Data = []store.RootIdentity{id}
	}
	return options
}
