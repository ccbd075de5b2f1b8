package tool

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/search"
)

// Code names an error for programs.
type Code string

// The codes of errors.
const (
	CodeNotIndexed           Code = "not_indexed"
	CodeIndexing             Code = "indexing"
	CodeIndexFailed          Code = "index_failed"
	CodeRequiresReindex      Code = "requires_reindex"
	CodeStaleTimeout         Code = "stale_timeout"
	CodeSourceChanged        Code = "source_changed"
	CodeAmbiguousCodebase    Code = "ambiguous_codebase"
	CodeCodebaseNotFound     Code = "codebase_not_found"
	CodePathOutsideRoot      Code = "path_outside_root"
	CodePathNotFound         Code = "path_not_found"
	CodeTargetNotFound       Code = "target_not_found"
	CodeTargetAmbiguous      Code = "target_ambiguous"
	CodeSnapshotNotFound     Code = "snapshot_not_found"
	CodeSnapshotExpired      Code = "snapshot_expired"
	CodeCursorExpired        Code = "cursor_expired"
	CodeCursorMismatch       Code = "cursor_mismatch"
	CodeInvalidArgument      Code = "invalid_argument"
	CodeBudgetTooSmall       Code = "budget_too_small"
	CodeOperationInProgress  Code = "operation_in_progress"
	CodeConfirmationRequired Code = "confirmation_required"
	CodeEmbedderUnavailable  Code = "embedder_unavailable"
	CodeStoreUnavailable     Code = "store_unavailable"
	CodeBusUnavailable       Code = "bus_unavailable"
	CodePermissionDenied     Code = "permission_denied"
	CodeInterrupted          Code = "interrupted"
	CodeBusy                 Code = "busy"
	CodeInternal             Code = "internal"
)

// Codes lists every code, in the order in which they are documented.
func Codes() []Code {
	return []Code{
		CodeNotIndexed, CodeIndexing, CodeIndexFailed, CodeRequiresReindex, CodeStaleTimeout,
		CodeSourceChanged, CodeAmbiguousCodebase, CodeCodebaseNotFound, CodePathOutsideRoot,
		CodePathNotFound, CodeTargetNotFound, CodeTargetAmbiguous, CodeSnapshotNotFound,
		CodeSnapshotExpired, CodeCursorExpired, CodeCursorMismatch, CodeInvalidArgument,
		CodeBudgetTooSmall, CodeOperationInProgress, CodeConfirmationRequired, CodeEmbedderUnavailable,
		CodeStoreUnavailable, CodeBusUnavailable, CodePermissionDenied, CodeInterrupted, CodeBusy,
		CodeInternal,
	}
}

// Error is a refusal or a failure with its code and what to do about it. It is the error
// member of the envelope; NextSteps go to the envelope's member of that name.
type Error struct {
	Code         Code           `json:"code"`
	Message      string         `json:"message"`
	Retryable    bool           `json:"retryable"`
	RetryAfterMs int64          `json:"retry_after_ms"`
	Details      map[string]any `json:"details"`

	NextSteps []NextStep `json:"-"`
	// Cause is the error that was met, for errors.Is; it is not shown.
	Cause error `json:"-"`
}

// Error returns the code and the message.
func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Errorf makes an error. A %w operand becomes its cause.
func Errorf(code Code, format string, args ...any) *Error {
	wrapped := fmt.Errorf(format, args...)
	return &Error{
		Code: code, Message: wrapped.Error(), Retryable: retryable(code),
		Details: map[string]any{}, Cause: errors.Unwrap(wrapped),
	}
}

// Detail adds a fact for programs and returns the error.
func (e *Error) Detail(key string, value any) *Error {
	e.Details[key] = value
	return e
}

// Next adds a next step and returns the error.
func (e *Error) Next(step NextStep) *Error {
	e.NextSteps = append(e.NextSteps, step)
	return e
}

// RetryAfter says when to try again and returns the error.
func (e *Error) RetryAfter(ms int64) *Error {
	e.Retryable, e.RetryAfterMs = true, ms
	return e
}

func retryable(code Code) bool {
	switch code {
	case CodeIndexing, CodeStaleTimeout, CodeSourceChanged, CodeOperationInProgress,
		CodeEmbedderUnavailable, CodeStoreUnavailable, CodeBusUnavailable, CodeInterrupted, CodeBusy:
		return true
	}
	return false
}

// Invalid is CodeInvalidArgument for a field, with the values that are allowed.
func Invalid(field, message string, allowed ...string) *Error {
	e := Errorf(CodeInvalidArgument, "%s: %s", field, message).Detail("field", field)
	if len(allowed) > 0 {
		e = e.Detail("allowed", allowed)
	}
	return e
}

// AsError turns any error into an *Error: one that is in its chain, the code that belongs
// to a sentinel of package store or to a refused query, or CodeInternal.
func AsError(err error) *Error {
	var known *Error
	if errors.As(err, &known) {
		return known
	}
	if errors.Is(err, context.Canceled) {
		return Errorf(CodeInterrupted, "interrupted; run the same command again to resume").causedBy(err)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return Errorf(CodeStaleTimeout, "the time allowed for the call ran out").causedBy(err)
	}
	var bad *search.BadQuery
	if errors.As(err, &bad) {
		field, named := map[string]string{"text": "query", "languages": "langs", "offset": "cursor"}[bad.Field]
		if !named {
			field = bad.Field
		}
		return Invalid(field, bad.Message, bad.Allowed...).causedBy(err)
	}
	for _, known := range storeErrors() {
		if errors.Is(err, known.sentinel) {
			e := Errorf(known.code, "%w", err)
			if known.step != nil {
				e = e.Next(*known.step)
			}
			return e
		}
	}
	switch {
	case errors.Is(err, syscall.ENAMETOOLONG):
		return Errorf(CodeInvalidArgument, "the name of a file or directory is too long: %w", err)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ELOOP):
		return Errorf(CodePathNotFound, "%w", err)
	case errors.Is(err, fs.ErrPermission):
		return Errorf(CodePermissionDenied, "%w", err)
	}
	return Errorf(CodeInternal, "%w", err)
}

func (e *Error) causedBy(err error) *Error {
	e.Cause = err
	return e
}

type storeError struct {
	sentinel error
	code     Code
	step     *NextStep
}

func storeErrors() []storeError {
	verify := commandStep("freshet verify --repair", "compares the index with the tree and sets right what differs")
	upgrade := commandStep("freshet version", "shows the version of this binary; install a newer one, or choose another --home")
	doctor := commandStep("freshet doctor", "looks for the cause")
	room := commandStep("freshet gc", "frees what no retained snapshot needs; the index stays as it was")
	return []storeError{
		{store.ErrNoSnapshot, CodeNotIndexed, nil},
		{store.ErrNoFingerprint, CodeRequiresReindex, nil},
		{store.ErrStaleFingerprint, CodeRequiresReindex, nil},
		{store.ErrConflict, CodeOperationInProgress, nil},
		{store.ErrAwaitingSeal, CodeOperationInProgress, nil},
		{store.ErrNewerSchema, CodeStoreUnavailable, &upgrade},
		{store.ErrMigrationModified, CodeStoreUnavailable, &upgrade},
		{store.ErrCorrupt, CodeStoreUnavailable, &verify},
		{store.ErrChecksum, CodeStoreUnavailable, &verify},
		{store.ErrDiskFull, CodeStoreUnavailable, &room},
		{store.ErrClosed, CodeStoreUnavailable, nil},
		{store.ErrUnavailable, CodeStoreUnavailable, &doctor},
		{store.ErrNotFound, CodeTargetNotFound, nil},
	}
}

// The exit codes of the command line.
const (
	ExitOK       = 0
	ExitError    = 1
	ExitUsage    = 2
	ExitNotReady = 3
	ExitStale    = 4
	ExitDrift    = 5
)

// ExitCode is the exit code that belongs to an error code.
func (c Code) ExitCode() int {
	switch c {
	case "":
		return ExitOK
	case CodeInvalidArgument:
		return ExitUsage
	case CodeNotIndexed, CodeIndexing, CodeRequiresReindex:
		return ExitNotReady
	case CodeStaleTimeout, CodeSourceChanged:
		return ExitStale
	}
	return ExitError
}
