package mine

import (
	"testing"

	"github.com/freshet/freshet/cmd/train/pairs"
)

// Whatever a file holds, mining it ends without a fault, and its texts are not empty.
func FuzzFile(f *testing.F) {
	f.Add("a.go", "// Close closes the connection of the server.\nfunc Close() {\n\tx()\n\ty()\n\tz()\n}\n")
	f.Add("a.py", "def close_it(x):\n    \"\"\"Close the connection of it.\n    \"\"\"\n    a = 1\n    b = 2\n    return a\n")
	f.Add("a.hs", "-- | Close the connection of it.\nclose :: Int\nclose = 1\n\f\n{- x\n-}")
	f.Add("a.md", "# Use of it\nthe way to use it\n```go\na\nb\nc\n```\n")
	f.Add("a.lua", "--[[ one ]] x\n--[[\n\f\n]]\n")
	f.Fuzz(func(t *testing.T, name, data string) {
		set := pairs.New()
		m := New(set, Defaults())
		m.Source("x")
		m.File(name, []byte(data))
		for _, p := range set.Pairs {
			if len(p.Query) == 0 || len(p.Code) == 0 {
				t.Errorf("a pair with an empty text: %+v", p)
			}
		}
	})
}
