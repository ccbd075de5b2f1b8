package sqlitestore

import (
	"bytes"
	"database/sql"
	"fmt"
	"io"
	"net/url"
	"os"

	"github.com/freshet/freshet/store"
)

// openReadOnly opens the database in dir for reading only.
func openReadOnly(dir string) (*sql.DB, error) {
	s := &Store{dir: dir}
	return sql.Open("sqlite", s.dsn("mode=ro&"+readerParameters))
}

func (s *Store) dsn(parameters string) string {
	path := url.URL{Path: s.file()}
	return "file:" + path.EscapedPath() + "?" + parameters + allParameters
}

// checkHeader looks at the first bytes of a database that is not empty.
func (s *Store) checkHeader() error {
	f, err := os.Open(s.file())
	if err != nil {
		return err
	}
	header := make([]byte, 16)
	n, err := io.ReadFull(f, header)
	if e := f.Close(); e != nil {
		return e
	}
	if err != nil || !bytes.Equal(header, []byte("SQLite format 3\x00")) {
		return fmt.Errorf("header of %d bytes is not that of a database: %w", n, store.ErrCorrupt)
	}
	return nil
}
