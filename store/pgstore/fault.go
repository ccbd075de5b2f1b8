package pgstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/freshet/freshet/store"
)

// The states of the server that have a meaning here, and how the names of classes begin.
const (
	stateSerialization = "40001"
	stateDeadlock      = "40P01"
	statePlanChanged   = "0A000" // a cached plan met another schema
	stateDiskFull      = "53100"
	stateTimeout       = "57014" // or canceled
	stateNoLock        = "55P03"
	stateNoTable       = "42P01"
	stateNoColumn      = "42703"

	classConnection = "08"
	classResources  = "53"
	classOperator   = "57" // shut down, starting up
	classStatement  = "42" // names what is not there, or may not
	classInternal   = "XX" // data or an index are damaged
)

// transient reports whether a transaction that failed may be tried again.
func transient(err error) bool {
	if errors.Is(err, store.ErrUnavailable) {
		return false // it took its time already, or may have happened
	}
	var e *pgconn.PgError
	if errors.As(err, &e) {
		switch e.Code {
		case stateSerialization, stateDeadlock:
			return true
		case statePlanChanged:
			return strings.Contains(e.Message, "cached plan")
		case stateTimeout:
			return false
		}
		return strings.HasPrefix(e.Code, classConnection) || strings.HasPrefix(e.Code, classOperator)
	}
	return disconnected(err)
}

// disconnected reports whether an error is that of a connection, and none of the server.
func disconnected(err error) bool {
	var connect *pgconn.ConnectError
	var network net.Error
	return errors.As(err, &connect) || errors.As(err, &network) || pgconn.SafeToRetry(err) ||
		errors.Is(err, sql.ErrConnDone) || errors.Is(err, driver.ErrBadConn) || // of migrations
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) ||
		strings.Contains(err.Error(), "conn closed")
}

// outgrown looks at the version of the schema again when a statement did not fit it, and
// returns store.ErrNewerSchema where that is why: reads keep no migration out, and a
// statement that goes along with the look at the version may fail before it. It returns any
// other error as it is.
func (s *Store) outgrown(ctx context.Context, err error) error {
	var e *pgconn.PgError
	if !errors.As(err, &e) || !strings.HasPrefix(e.Code, classStatement) && e.Code != statePlanChanged {
		return err
	}
	now := s.bounded(ctx, reading(), func(*tx) error { return nil })
	if errors.Is(now, store.ErrNewerSchema) {
		return now
	}
	return err
}

// fault gives an error of the server or the network the meaning that callers branch on. It
// returns any other error, and nil, as it is.
func (s *Store) fault(ctx context.Context, err error) error {
	if err == nil || errors.Is(err, store.ErrUnavailable) {
		return err
	}
	if s.closed.Load() && strings.Contains(err.Error(), "closed pool") {
		return store.ErrClosed
	}
	if cause := ctx.Err(); cause != nil {
		return fmt.Errorf("%w: %w", cause, err)
	}
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		if disconnected(err) {
			return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
		}
		return err
	}
	switch e.Code {
	case stateDiskFull:
		return fmt.Errorf("%w: %w", store.ErrDiskFull, err)
	case stateNoTable, stateNoColumn:
		// The statements are ours and the version of the schema is checked (see outgrown):
		// what they name was there.
		return fmt.Errorf("schema: %w: %w", store.ErrCorrupt, err)
	case stateSerialization, stateDeadlock, stateTimeout, stateNoLock:
		return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	for class, sentinel := range map[string]error{
		classConnection: store.ErrUnavailable, classResources: store.ErrUnavailable, classOperator: store.ErrUnavailable,
		classInternal: store.ErrCorrupt,
	} {
		if strings.HasPrefix(e.Code, class) {
			return fmt.Errorf("%w: %w", sentinel, err)
		}
	}
	return err
}
