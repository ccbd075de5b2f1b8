package host

import (
	"github.com/freshet/freshet/mcp/tool"
)

// newBackend gives the handlers what they need. The store itself is the catalog, the
// contents and the switch of snapshots.
func (h *Host) newBackend() tool.Backend {
	return tool.Backend{
		Catalog:    h.store,
		Contents:   h.store,
		Snapshots:  h.store,
		Search:     h.engine,
		Registry:   registry{h},
		Freshness:  checker{h},
		Disk:       disk{h},
		Operations: runner{h},
		Inspector:  inspector{h},
		Canon:      canonist{h},
		History:    historian{h},
		Keeper:     keeper{h},
		Now:        h.opts.Now,
	}
}
