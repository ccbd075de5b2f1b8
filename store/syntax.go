package store

import "github.com/freshet/freshet/sync/merkle"

// SyntaxKey names the syntax of a content: Version is Recipe.SyntaxVersion of the file's
// language, so that it changes with the grammar and with the chunker, and with no other.
type SyntaxKey struct {
	Content merkle.Hash
	Version string
}

// Cut says how a content was divided into chunks.
type Cut string

// The ways of cutting.
const (
	// CutGrammar is a cut on the syntax tree of the file's language.
	CutGrammar Cut = "grammar"
	// CutStructure is a cut by a simple scanner: headings, statements, keys.
	CutStructure Cut = "structure"
	// CutLines is the honest fallback: blank lines and indentation.
	CutLines Cut = "lines"
	// CutQuarantined is a line cut of a content that killed or hung its parser.
	CutQuarantined Cut = "quarantined"
)

// Syntax is all that parsing a content gives. Spans are byte offsets [Start, End) into
// the content and 1-based inclusive lines. It knows no path.
type Syntax struct {
	Cut         Cut
	Chunks      []Chunk
	Definitions []Definition
	References  []Reference
}

// Chunk is a span of a content on syntax boundaries. The chunks of a content are sorted,
// do not overlap, and together cover every byte of it.
type Chunk struct {
	Start, End         uint32
	StartLine, EndLine uint32
	// Breadcrumb is where the chunk stands, for example "class Server > method Close".
	Breadcrumb string
	// TextHash is the SHA-256 of EmbedText: the key of the chunk's vector.
	TextHash merkle.Hash
}

// EmbedText is the text whose vector stands for a chunk: its breadcrumb on a line of its
// own, when it has one, and its bytes.
func EmbedText(breadcrumb string, body []byte) string {
	if breadcrumb == "" {
		return string(body)
	}
	return breadcrumb + "\n" + string(body)
}

// Definition is a named thing that a content defines. Parent is the index of the
// enclosing definition in Syntax.Definitions, or -1.
type Definition struct {
	Name               string
	Kind               string // function, method, class, struct, interface, enum, type, constant, variable, module, field, macro, trait, heading, key, table, message, service, selector
	Signature          string // one line, at most 300 bytes
	Doc                string // the comment above it, at most 1,000 bytes
	Start, End         uint32
	StartLine, EndLine uint32
	Parent             int32
}

// ReferenceKind says how a name is used.
type ReferenceKind uint8

// The kinds of reference.
const (
	RefCall ReferenceKind = iota + 1
	RefImport
	RefType
	RefInherit
)

// String returns call, import, type or inherit.
func (k ReferenceKind) String() string {
	switch k {
	case RefCall:
		return "call"
	case RefImport:
		return "import"
	case RefType:
		return "type"
	case RefInherit:
		return "inherit"
	}
	return "unknown"
}

// Reference is a use of a name. Name is as written, with its qualifier when it has one
// ("http.Get", "self.close"). From is the index of the enclosing definition, or -1.
type Reference struct {
	Name string
	Kind ReferenceKind
	Line uint32
	From int32
}

// SyntaxRecord is a syntax under its key.
type SyntaxRecord struct {
	Key    SyntaxKey
	Syntax Syntax
}

// Vector is a unit vector in int8: component i is about Data[i] * Scale. Scale is the
// largest magnitude of the unit vector divided by 127. Every Data[i] lies in [-127, 127].
type Vector struct {
	Scale float32
	Data  []int8
}

// VectorRecord is a vector under the hash of the text it stands for.
type VectorRecord struct {
	TextHash merkle.Hash
	Vector   Vector
}
