package event

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func encoded(t *testing.T, e Event) string {
	t.Helper()
	data, err := Encode(e)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	events := samples()
	opened, changed, removed := encoded(t, events[0]), encoded(t, events[1]), encoded(t, events[2])
	parked, sealed := encoded(t, events[5]), encoded(t, events[7])
	replace := func(in, from, to string) string {
		t.Helper()
		if !strings.Contains(in, from) {
			t.Fatalf("%q is not in %s", from, in)
		}
		return strings.Replace(in, from, to, 1)
	}
	path := func(to string) string { return replace(removed, `"gone.go"`, to) }
	cases := []struct {
		name string
		data string
		want error
	}{
		{"nothing", "", ErrMalformed},
		{"null", "null", ErrUnknownType},
		{"a list", "[]", ErrMalformed},
		{"cut off", opened[:len(opened)-1], ErrMalformed},
		{"two values", sealed + sealed, ErrMalformed},
		{"over the size", sealed + strings.Repeat(" ", MaxBytes), ErrTooLarge},
		{"newer version", replace(sealed, `"version":1`, `"version":2`), ErrNewerVersion},
		{"newer version of another shape", `{"version":9,"type":"snapshot.sealed","sealed":[1]}`, ErrNewerVersion},
		{"version 0", replace(sealed, `"version":1`, `"version":0`), ErrMalformed},
		{"unknown type", replace(sealed, "snapshot.sealed", "snapshot.melted"), ErrUnknownType},
		{"duplicate key", replace(sealed, `"version":1`, `"version":1,"version":1`), ErrMalformed},
		{"duplicate key deep down", replace(opened, `"schema":1`, `"schema":1,"schema":2`), ErrMalformed},
		{"duplicate key by escape", replace(opened, `"Go":`, `"\u0047o":"9","Go":`), ErrMalformed},
		{"key in other case", replace(sealed, `"sealed":`, `"Sealed":`), ErrMalformed},
		{"key that folds to s", replace(sealed, `"sealed":`, `"\u017fealed":`), ErrMalformed},
		{"nested too deep", replace(sealed, `"version":1`, `"version":1,"x":`+strings.Repeat("[", 40)+strings.Repeat("]", 40)), ErrMalformed},
		{"no body", replace(sealed, `"sealed":`, `"solid":`), ErrMalformed},
		{"a second body", replace(sealed, `"sealed":`, `"removed":{"paths":["a"]},"sealed":`), ErrMalformed},
		{"another type's body", replace(changed, `"changed":`, `"processed":`), ErrMalformed},
		{"codebase with a dot", replace(sealed, `"c7k2m9"`, `"c7.>"`), ErrMalformed},
		{"codebase of the whole log", replace(sealed, `"c7k2m9"`, `"log"`), ErrMalformed},
		{"no snapshot", replace(sealed, `"snapshot":12`, `"snapshot":0`), ErrMalformed},
		{"negative snapshot", replace(sealed, `"snapshot":12`, `"snapshot":-1`), ErrMalformed},
		{"no fingerprint", replace(sealed, `"fingerprint"`, `"fingerprints"`), ErrMalformed},
		{"opened out of its part", replace(opened, `"part":0`, `"part":1`), ErrMalformed},
		{"opened on top of itself", replace(opened, `"parent":11`, `"parent":12`), ErrMalformed},
		{"removed in the place of opened", replace(removed, `"part":1`, `"part":0`), ErrMalformed},
		{"level nobody seals", replace(sealed, `"full"`, `"open"`), ErrMalformed},
		{"parked under another part", replace(parked, `nested.md`, `rested.md`), ErrMalformed},
		{"no paths", replace(removed, `["gone.go",`, `[],"x":[`), ErrMalformed},
		{"absolute path", path(`"/etc/passwd"`), ErrMalformed},
		{"path out of the root", path(`"a/../../b"`), ErrMalformed},
		{"path out of the root, quoted", path(`"\"a/\\056./b\""`), ErrMalformed},
		{"path with an empty component", path(`"a//b"`), ErrMalformed},
		{"path with a dot component", path(`"./a"`), ErrMalformed},
		{"empty path", path(`""`), ErrMalformed},
		{"path with NUL", path(`"a\u0000"`), ErrMalformed},
		{"path with NUL, quoted", path(`"\"a\\000\""`), ErrMalformed},
		{"path that does not unquote", path(`"\"a\\q\""`), ErrMalformed},
		{"201 paths", path(strings.Repeat(`"a",`, MaxPaths-1) + `"a"`), ErrTooLarge},
		{"content of 31 bytes", replace(changed, `"content":"`, `"content":"00","x":"`), ErrMalformed},
		{"negative size", replace(changed, `"size":812`, `"size":-1`), ErrMalformed},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			e, err := Decode([]byte(c.data))
			if !errors.Is(err, c.want) {
				t.Fatalf("Decode gave %v, want %v", err, c.want)
			}
			if diff := cmp.Diff(Event{}, e); diff != "" {
				t.Errorf("an error came with an event:\n%s", diff)
			}
		})
	}
}

// TestAddressOfNewer: what nobody here knows still says whose it is.
func TestAddressOfNewer(t *testing.T) {
	t.Parallel()
	want := samples()[7]
	sealed := encoded(t, want)
	for _, c := range []struct{ name, from, to string }{
		{"newer version", `"version":1`, `"version":2`},
		{"unknown type", "snapshot.sealed", "snapshot.melted"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			codebase, fingerprint := AddressOf([]byte(strings.Replace(sealed, c.from, c.to, 1)))
			if codebase != want.Codebase || fingerprint != want.Fingerprint {
				t.Errorf("codebase %s and fingerprint %s, want %s and %s", codebase, fingerprint, want.Codebase, want.Fingerprint)
			}
		})
	}
}

func TestDecodeToleratesFieldsAddedLater(t *testing.T) {
	t.Parallel()
	for _, e := range samples() {
		t.Run(string(e.Type), func(t *testing.T) {
			t.Parallel()
			data := strings.ReplaceAll(encoded(t, e), "{", `{"added_later":{"a":[1,null,"x"]},`)
			data = strings.ReplaceAll(data, `"grammars":{"added_later":{"a":[1,null,"x"]},`, `"grammars":{`)
			data = strings.ReplaceAll(data, ",}", "}")
			got, err := Decode([]byte(data))
			if err != nil {
				t.Fatalf("%v: %s", err, data)
			}
			if diff := cmp.Diff(e, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestEncodeRefuses(t *testing.T) {
	t.Parallel()
	changed := samples()[1]
	with := func(change func(*File)) Event {
		e, file := changed, changed.Changed.Files[0]
		change(&file)
		e.Changed = &Changed{Files: []File{file}}
		return e
	}
	many := changed
	many.Changed = &Changed{Files: make([]File, MaxPaths+1)}
	for i := range many.Changed.Files {
		many.Changed.Files[i] = changed.Changed.Files[0]
	}
	cases := []struct {
		name string
		e    Event
		want error
	}{
		{"201 files", many, ErrTooLarge},
		{"one file over the size", with(func(f *File) { f.Path = strings.Repeat("a", MaxBytes) }), ErrTooLarge},
		{"raw path", with(func(f *File) { f.Path = "a\xff" }), ErrMalformed},
		{"language in no encoding", with(func(f *File) { f.Language = "\xff" }), ErrMalformed},
		{"rename out of the root", with(func(f *File) { f.From = "../a" }), ErrMalformed},
		{"no content", with(func(f *File) { f.Content[0] ^= hashOf("main")[0]; f.Content = [32]byte{} }), ErrMalformed},
		{"no header", Event{}, ErrUnknownType},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if _, err := Encode(c.e); !errors.Is(err, c.want) {
				t.Fatalf("Encode gave %v, want %v", err, c.want)
			}
		})
	}
}

// FuzzDecode feeds anything; what is accepted must be an event that encodes to one that
// decodes to the same.
func FuzzDecode(f *testing.F) {
	for _, e := range samples() {
		data, err := Encode(e)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := Decode(data)
		if err != nil {
			return
		}
		canonical, err := Encode(e)
		if errors.Is(err, ErrTooLarge) {
			return // the canonical escapes can be longer than the ones read
		}
		if err != nil {
			t.Fatalf("accepted, and not encoded again: %v", err)
		}
		again, err := Decode(canonical)
		if err != nil {
			t.Fatalf("own encoding refused: %v", err)
		}
		if diff := cmp.Diff(e, again); diff != "" {
			t.Fatalf("(-first +second):\n%s", diff)
		}
		twice, err := Encode(again)
		if err != nil || !bytes.Equal(canonical, twice) {
			t.Fatalf("not canonical: %v\n%s\n%s", err, canonical, twice)
		}
	})
}
