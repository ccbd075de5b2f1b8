package tool

// ReadCode are the parameters of read_code.
type ReadCode struct {
	Targets []string `json:"targets" jsonschema:"up to 20 of: path, path:START-END (1-based, inclusive), symbol (Close, Server.Close), id of a hit"`
	View    View     `json:"view,omitempty" jsonschema:"full (default): the lines; skeleton: the definitions with their lines; fragment: the whole definitions that the target touches"`
	Where
	Demand
	Shape
}

// View is what of a target is shown.
type View string

// The views of a target.
const (
	ViewFull     View = "full"
	ViewSkeleton View = "skeleton"
	ViewFragment View = "fragment"
)

// Views lists the views of a target, the default first.
func Views() []View { return []View{ViewFull, ViewSkeleton, ViewFragment} }
