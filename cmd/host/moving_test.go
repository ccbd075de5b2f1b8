package host

import (
	"fmt"
	"testing"

	"github.com/freshet/freshet/mcp/tool"
)

// A tree that is edited while it is verified never counts as drift: either one root is
// compared with itself, or the answer says that the tree moved. Edits that are taken back
// are among them.
func TestVerifyComparesOneRootWithItself(t *testing.T) {
	t.Parallel()
	home, root := t.TempDir(), tree(t)
	s := connect(t, home)
	must(t, s, "index", map[string]any{"path": root, "wait": true})
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() { // ends with the test
		defer close(ended)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			write(t, root, fmt.Sprintf("pkg%d/file%d.go", i%3, i%12), fmt.Sprintf("package pkg\n\nfunc Moved%d() {}\n", i%2))
		}
	}()
	outcomes := map[string]int{}
	for range 2 {
		v := patient(t, s, "verify", map[string]any{"codebase": root})
		switch {
		case v.Error != nil && v.Error.Code == tool.CodeSourceChanged:
			outcomes["the tree moved"]++
		case v.Error == nil && v.Equal:
			outcomes["equal"]++
		default:
			t.Errorf("verify of a moving tree: %+v, %+v", v.Error, v.Verification)
		}
	}
	close(stop)
	<-ended
	t.Logf("%v", outcomes)
	if v := must(t, s, "verify", map[string]any{"codebase": root}); !v.Equal {
		t.Errorf("a tree that stands still differs: %+v", v.Verification)
	}
}
