package chunk

import "testing"

// TestQueriesCompile names the language whose query its grammar does not understand.
func TestQueriesCompile(t *testing.T) {
	t.Parallel()
	for _, l := range languages() {
		r, err := l.reader(stepLimit)
		if err != nil {
			t.Errorf("%s: %v", l.name, err)
			continue
		}
		r.close()
	}
}
