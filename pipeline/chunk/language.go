package chunk

import "github.com/freshet/freshet/store"

// language is how contents of one language are read.
type language struct {
	// name is go-enry's.
	name string
	// version names the parser: it changes whenever the parser does.
	version string
	// cut is how contents are cut that reader could read.
	cut store.Cut
	// reader makes what reads contents of the language. It is called once a cutter, when
	// the first content comes, and may be costly. limit bounds the work of a parse, as
	// stepLimit does; scanners are linear and have no bound.
	reader func(limit func(size int) int) (reader, error)
	// style is how the language writes comments.
	style style
	// refine, if set, corrects an outline by what the grammar does not say.
	refine func(content []byte, o *outline)
	// typeWord, if set, stands in breadcrumbs for struct, interface and type alike.
	typeWord string
}

// reader reads the outline of one content after another. It is used by one goroutine.
type reader interface {
	// read returns the outline of a content. It returns an error only if it had to give
	// up; of a malformed content it returns what could be read. After an error the reader
	// may be used again.
	read(content []byte) (outline, error)
	close()
}

// readFunc is a reader without state.
type readFunc func(content []byte) outline

func (f readFunc) read(content []byte) (outline, error) { return f(content), nil }
func (f readFunc) close()                               {}

// structured is a language that is read by a simple scanner.
func structured(name, version string, read readFunc) language {
	return language{
		name: name, version: version, cut: store.CutStructure,
		reader: func(func(int) int) (reader, error) { return read, nil },
	}
}

// outline is what a reader finds in a content, in any order.
type outline struct {
	symbols    []symbol
	uses       []use
	statements []span
}

// span is the bytes [start, end).
type span struct{ start, end uint32 }

// symbol is a definition as a reader found it.
type symbol struct {
	span
	name string
	kind string
	// rank decides which of several readings of one name is right: the lowest.
	rank uint16
	// nameAt is the offset of the name, which lies in the span.
	nameAt uint32
	// owner is what the definition belongs to when that does not enclose it, as a
	// breadcrumb ("type Server"); ownerName names it.
	owner, ownerName string
	// title, if set, stands in breadcrumbs for the kind and the name.
	title string
	// signature and doc are read from the text when empty; a plain symbol has no doc.
	signature, doc string
	plain          bool
	// scope marks what is a place and no definition, for example an impl block: its
	// members belong to the definition of the same name.
	scope bool
}

// use is a reference as a reader found it.
type use struct {
	name string
	kind store.ReferenceKind
	at   uint32
}
