package memstore_test

import (
	"testing"
	"time"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/memstore"
	"github.com/freshet/freshet/store/storetest"
)

func TestStore(t *testing.T) {
	open := func(t *testing.T, now func() time.Time) store.Store {
		return memstore.New(memstore.Options{Now: now})
	}
	storetest.Run(t, open, storetest.Features{})
}
