package corpus

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseManifest(t *testing.T) {
	t.Parallel()
	m, err := ParseManifest(strings.NewReader(`# a remark

npm left-pad 1.0.0 MIT sha512-x
debian a 1:2-3 MIT_or_Apache-2.0 sha256:y
without npm/left-pad src/a b.js
`))
	if err != nil {
		t.Fatal(err)
	}
	want := &Manifest{
		Sources: []Source{
			{Kind: Debian, Name: "a", Version: "1:2-3", Licence: "MIT or Apache-2.0", Digest: "sha256:y"},
			{Kind: NPM, Name: "left-pad", Version: "1.0.0", Licence: "MIT", Digest: "sha512-x"},
		},
		Without: map[string][]string{"npm/left-pad": {"src/a b.js"}},
	}
	if diff := cmp.Diff(want, m); diff != "" {
		t.Errorf("manifest (-want +got):\n%s", diff)
	}
	if got, want := m.Sources[0].Line(), "debian a 1:2-3 MIT_or_Apache-2.0 sha256:y"; got != want {
		t.Errorf("line %q, want %q", got, want)
	}
	for name, text := range map[string]string{
		"an unknown kind": "svn a 1 MIT x", "too few fields": "npm a 1 MIT", "a source twice": "npm a 1 MIT x\nnpm a 2 MIT y",
	} {
		if _, err := ParseManifest(strings.NewReader(text)); err == nil {
			t.Errorf("%s is read", name)
		}
	}
}

// The committed corpus holds no project of the evaluation and nothing under a licence that
// binds what is derived.
func TestCommittedManifest(t *testing.T) {
	t.Parallel()
	m, err := ReadManifest("../manifest.txt")
	if err != nil {
		t.Fatal(err)
	}
	exclusion := NewExclusion()
	for _, s := range m.Sources {
		if exclusion.Package(s.Name) {
			t.Errorf("%s is a project of the evaluation", s)
		}
		if !Permissive(s.Licence) {
			t.Errorf("%s is under %q", s, s.Licence)
		}
	}
}

func TestExclusion(t *testing.T) {
	t.Parallel()
	e := NewExclusion()
	for _, name := range []string{
		"redis", "ruby-rack", "ruby-sinatra", "php-monolog", "libcommons-lang3-java", "commons-lang", "haskell-aeson",
		"rust-tokio", "rust-tokio-util", "rust-serde-json", "rust-axum-core", "express", "node-express", "@trpc/server",
		"zod", "github.com/go-chi/chi", "github.com/go-chi/chi/v5", "github.com/gin-gonic/gin", "github.com/spf13/cobra",
		"python-requests", "python-aiohttp", "newtonsoft-json", "curl", "libuv1", "xmonad", "vitest", "redux",
	} {
		if !e.Package(name) {
			t.Errorf("%s is not excluded", name)
		}
	}
	for _, name := range []string{"rack-mount-tool", "golang.org/x/net", "libarchive", "mono", "effect", "react-native", "k8s.io/client-go",
		"haskell-conduit", "expo", "jackson-core", "commons-io", "fast-float"} {
		if e.Package(name) {
			t.Errorf("%s is excluded", name)
		}
	}
	for name, want := range map[string]bool{
		"pip/_internal/requests/api.py": true, "deps/redis/x.c": true, "src/fmt/print.go": false, "lib/request/api.js": false,
	} {
		if got := e.File(name); got != want {
			t.Errorf("file %s: excluded %v, want %v", name, got, want)
		}
	}
}

func TestPermissive(t *testing.T) {
	t.Parallel()
	for licence, want := range map[string]bool{
		"MIT": true, "Apache-2.0": true, "BSD-3-Clause": true, "(MIT OR GPL-3.0)": true, "MIT or Apache-2.0": true,
		"Apache-2.0 and MIT": true, "ISC": true, "Expat": true, "0BSD": true, "Unlicense/MIT": true,
		"GPL-2+": false, "MIT and GPL": false, "LGPL-2.1": false, "MPL-2.0": false, "unknown": false, "": false,
		"UNLICENSED": false, "SEE LICENSE IN LICENSE": false, "Apache-2.0 and unknown": false,
	} {
		if got := Permissive(licence); got != want {
			t.Errorf("%q permissive: %v, want %v", licence, got, want)
		}
	}
}
