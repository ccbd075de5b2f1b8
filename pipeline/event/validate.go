package event

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// maxWord bounds the identifiers of an event in bytes.
const maxWord = 256

// Types lists every type of event.
func Types() []Type {
	return []Type{
		SnapshotOpened, FilesChanged, FilesRemoved, FilesChunked, FilesEmbedded, FileParked,
		FileUnparked, SnapshotSealed, CodebaseRegistered, CodebaseCleared, StreamBaseline,
	}
}

// Version is the version of the type's body that this binary writes, 0 for an unknown
// type. It reads that one and every earlier one.
func (t Type) Version() int {
	switch t {
	case SnapshotOpened, FilesChanged, FilesRemoved, FilesChunked, FilesEmbedded, FileParked,
		FileUnparked, SnapshotSealed, CodebaseRegistered, CodebaseCleared, StreamBaseline:
		return 1
	}
	return 0
}

func checkVersion(t Type, version int) error {
	known := t.Version()
	switch {
	case known == 0:
		return fmt.Errorf("%w: %q", ErrUnknownType, clip(string(t)))
	case version > known:
		return fmt.Errorf("%w: %s version %d, known to %d", ErrNewerVersion, t, version, known)
	case version < 1:
		return malformed("%s version %d", t, version)
	}
	return nil
}

// validate checks everything that an event must be, save its encoded size.
func validate(e Event) error {
	if err := checkVersion(e.Type, e.Version); err != nil {
		return err
	}
	if err := checkHeader(e); err != nil {
		return err
	}
	if err := checkOneBody(e); err != nil {
		return err
	}
	switch e.Type {
	case SnapshotOpened:
		return checkOpened(e)
	case FilesChanged:
		return checkFiles(e.Part, e.Changed.Files)
	case FilesChunked, FilesEmbedded:
		return checkFiles(e.Part, e.Processed.Files)
	case FilesRemoved:
		return checkRemoved(e)
	case FileParked:
		return checkParked(e, PartParked)
	case FileUnparked:
		return checkParked(e, PartUnparked)
	case SnapshotSealed:
		return checkSealed(e)
	case CodebaseRegistered:
		return checkRegistered(e, partRegistered)
	case CodebaseCleared:
		return checkRegistered(e, partCleared)
	default:
		return checkBaseline(e)
	}
}

func checkHeader(e Event) error {
	if !validCodebase(e.Codebase) {
		return malformed("codebase %q is not of [a-z0-9]", clip(string(e.Codebase)))
	}
	if (e.Codebase == WholeLog) != (e.Type == StreamBaseline) {
		return malformed("%s of codebase %q", e.Type, e.Codebase)
	}
	if year := e.At.Year(); year < 0 || year > 9999 {
		return malformed("year %d", year)
	}
	switch e.Type {
	case CodebaseRegistered, CodebaseCleared, StreamBaseline:
		if e.Snapshot != 0 {
			return malformed("%s of snapshot %d, not of 0", e.Type, e.Snapshot)
		}
		return checkText("fingerprint", string(e.Fingerprint), maxWord)
	}
	if e.Snapshot == 0 {
		return malformed("%s without a snapshot", e.Type)
	}
	return checkWord("fingerprint", string(e.Fingerprint))
}

func validCodebase(id store.CodebaseID) bool {
	for _, c := range []byte(id) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return id != "" && len(id) <= 64
}

// checkOneBody wants the body that the type names, and no other.
func checkOneBody(e Event) error {
	bodies := []struct {
		present bool
		of      []Type
	}{
		{e.Opened != nil, []Type{SnapshotOpened}},
		{e.Changed != nil, []Type{FilesChanged}},
		{e.Removed != nil, []Type{FilesRemoved}},
		{e.Processed != nil, []Type{FilesChunked, FilesEmbedded}},
		{e.Parked != nil, []Type{FileParked, FileUnparked}},
		{e.Sealed != nil, []Type{SnapshotSealed}},
		{e.Registered != nil, []Type{CodebaseRegistered, CodebaseCleared}},
		{e.Baseline != nil, []Type{StreamBaseline}},
	}
	for _, body := range bodies {
		wanted := false
		for _, t := range body.of {
			wanted = wanted || t == e.Type
		}
		switch {
		case wanted && !body.present:
			return malformed("%s without its body", e.Type)
		case !wanted && body.present:
			return malformed("%s with the body of %s", e.Type, body.of[0])
		}
	}
	return nil
}

func checkOpened(e Event) error {
	switch {
	case e.Part != partOpened:
		return malformed("%s as part %d, not %d", e.Type, e.Part, partOpened)
	case e.Opened.Parent >= e.Snapshot:
		return malformed("snapshot %d with parent %d", e.Snapshot, e.Opened.Parent)
	case e.Opened.Changed < 0 || e.Opened.Removed < 0:
		return malformed("counts %d and %d", e.Opened.Changed, e.Opened.Removed)
	}
	if err := checkText("ref", e.Opened.Ref, MaxBytes); err != nil {
		return err
	}
	for _, field := range e.Opened.Recipe.Fields() {
		if !utf8.ValidString(field.Label) || !utf8.ValidString(field.Value) {
			return malformed("recipe field %q is not UTF-8", clip(field.Label))
		}
	}
	return nil
}

func checkFiles(part uint32, files []File) error {
	if err := checkParts(part, len(files)); err != nil {
		return err
	}
	for _, f := range files {
		if err := checkPath(f.Path); err != nil {
			return err
		}
		if f.From != "" {
			if err := checkPath(f.From); err != nil {
				return err
			}
		}
		if f.Size < 0 || f.Content.IsZero() {
			return malformed("file %s without size or content", clip(f.Path))
		}
		if err := checkText("language", f.Language, maxWord); err != nil {
			return err
		}
	}
	return nil
}

func checkRemoved(e Event) error {
	if err := checkParts(e.Part, len(e.Removed.Paths)); err != nil {
		return err
	}
	for _, p := range e.Removed.Paths {
		if err := checkPath(p); err != nil {
			return err
		}
	}
	return nil
}

func checkParts(part uint32, paths int) error {
	switch {
	case part <= partOpened || part >= PartSealed:
		return malformed("files as part %d", part)
	case paths == 0:
		return malformed("no files")
	case paths > MaxPaths:
		return fmt.Errorf("%w: %d paths, at most %d", ErrTooLarge, paths, MaxPaths)
	}
	return nil
}

// checkPath wants a quoted path that stays inside the root.
func checkPath(quoted string) error {
	path, err := merkle.UnquotePath(quoted)
	if err != nil {
		return malformed("path %s: %w", clip(quoted), err)
	}
	if !utf8.ValidString(quoted) || strings.ContainsRune(path, 0) {
		return malformed("path %q has bytes that no path has", clip(quoted))
	}
	for component := range strings.SplitSeq(path, "/") {
		if component == "" || component == "." || component == ".." {
			return malformed("path %s is not a relative path inside the root", clip(quoted))
		}
	}
	return nil
}

func checkParked(e Event, base uint32) error {
	p := e.Parked
	if err := checkPath(p.Path); err != nil {
		return err
	}
	switch {
	case e.Part != base+parkedBits(*p):
		return malformed("%s as part %d, not %d", e.Type, e.Part, base+parkedBits(*p))
	case p.Content.IsZero():
		return malformed("parked file %s without content", clip(p.Path))
	case p.Stage != store.StageChunk && p.Stage != store.StageEmbed:
		return malformed("stage %q", clip(string(p.Stage)))
	case p.Tries < 0:
		return malformed("%d tries", p.Tries)
	}
	if err := checkText("version", p.Version, maxWord); err != nil {
		return err
	}
	return checkText("reason", p.Reason, MaxBytes)
}

func checkSealed(e Event) error {
	part := sealedPart(e.Sealed.Level)
	switch {
	case part == 0:
		return malformed("sealed at level %q", clip(e.Sealed.Level))
	case e.Part != part:
		return malformed("%s as part %d, not %d", e.Type, e.Part, part)
	case e.Sealed.Files < 0 || e.Sealed.Parked < 0:
		return malformed("counts %d and %d", e.Sealed.Files, e.Sealed.Parked)
	}
	return nil
}

func checkRegistered(e Event, part uint32) error {
	if e.Part != part {
		return malformed("%s as part %d, not %d", e.Type, e.Part, part)
	}
	if _, err := merkle.UnquotePath(e.Registered.Root); err != nil {
		return malformed("root %s: %w", clip(e.Registered.Root), err)
	}
	if err := checkText("root", e.Registered.Root, MaxBytes); err != nil {
		return err
	}
	return checkText("name", e.Registered.Name, MaxBytes)
}

func checkBaseline(e Event) error {
	if e.Part != partBaseline {
		return malformed("%s as part %d, not %d", e.Type, e.Part, partBaseline)
	}
	if err := checkWord("incarnation", e.Baseline.Incarnation); err != nil {
		return err
	}
	if err := checkText("previous incarnation", e.Baseline.PreviousIncarnation, maxWord); err != nil {
		return err
	}
	return checkText("reason", e.Baseline.Reason, maxReason)
}

func checkWord(name, value string) error {
	if value == "" {
		return malformed("no %s", name)
	}
	return checkText(name, value, maxWord)
}

// checkText wants text that JSON gives back as it was.
func checkText(name, value string, limit int) error {
	if len(value) > limit || !utf8.ValidString(value) {
		return malformed("%s %q is not UTF-8 of at most %d bytes", name, clip(value), limit)
	}
	return nil
}

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrMalformed, fmt.Errorf(format, args...))
}

// clip shortens what a message may make as long as it likes.
func clip(s string) string {
	const most = 80
	if len(s) > most {
		return s[:most] + "..."
	}
	return s
}
