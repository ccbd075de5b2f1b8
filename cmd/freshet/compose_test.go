package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/freshet/freshet/cmd/cli"
)

// block is a key of a YAML file in block style, with what is indented below it.
type block struct {
	key, value string // of the line itself
	lines      []string
}

// blocks reads the keys at one indentation. It knows as much of YAML as docker-compose.yml
// has in the places that are looked at.
func blocks(lines []string, indent int) []block {
	var found []block
	for _, line := range lines {
		text := strings.TrimLeft(line, " ")
		depth := len(line) - len(text)
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		if depth == indent {
			key, value, _ := strings.Cut(text, ":")
			found = append(found, block{key: key, value: strings.TrimSpace(value)})
			continue
		}
		if depth > indent && len(found) > 0 {
			last := &found[len(found)-1]
			last.lines = append(last.lines, line)
		}
	}
	return found
}

func named(all []block, key string) (block, bool) {
	i := slices.IndexFunc(all, func(b block) bool { return b.key == key })
	if i < 0 {
		return block{}, false
	}
	return all[i], true
}

// service is a service with the keys that it takes from an anchor; its own come first.
type service struct {
	name string
	keys []block
}

func (s service) text(key string) string {
	b, _ := named(s.keys, key)
	return b.value + "\n" + strings.Join(b.lines, "\n")
}

func readCompose(t *testing.T) (services []service, top []block) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "docker-compose.yml"))
	if err != nil {
		t.Fatal(err)
	}
	top = blocks(strings.Split(string(data), "\n"), 0)
	anchors := map[string][]block{}
	for _, b := range top {
		if name, ok := strings.CutPrefix(b.value, "&"); ok {
			anchors[name] = blocks(b.lines, 2)
		}
	}
	all, ok := named(top, "services")
	if !ok {
		t.Fatal("there are no services")
	}
	for _, b := range blocks(all.lines, 2) {
		s := service{name: b.key, keys: blocks(b.lines, 4)}
		if merge, ok := named(s.keys, "<<"); ok {
			s.keys = append(s.keys, anchors[strings.TrimPrefix(merge.value, "*")]...)
		}
		services = append(services, s)
	}
	return services, top
}

// TestComposeHasItsShape: what docker-compose.yml promises holds, as far as its text tells.
func TestComposeHasItsShape(t *testing.T) {
	t.Parallel()
	services, top := readCompose(t)
	var names []string
	for _, s := range services {
		names = append(names, s.name)
	}
	want := []string{"nats1", "nats2", "nats3", "postgres", "synchronizer", "index", "worker", "mcp", "metrics"}
	if !slices.Equal(names, want) {
		t.Errorf("services %v, want %v", names, want)
	}
	pinned := regexp.MustCompile(`^\S+:v?\d+\.\d+(\.\d+)?\S*\s*$`)
	loopback := regexp.MustCompile(`^127\.0\.0\.1:\d+:\d+$`)
	volumes, _ := named(top, "volumes")
	declared := blocks(volumes.lines, 2)
	for _, s := range services {
		if image := s.text("image"); !pinned.MatchString(image) && strings.TrimSpace(image) != "freshet:local" {
			t.Errorf("%s: image %q is not pinned", s.name, image)
		}
		for _, port := range regexp.MustCompile(`"([^"]*:\d+)"`).FindAllStringSubmatch(s.text("ports"), -1) {
			if !loopback.MatchString(port[1]) {
				t.Errorf("%s publishes %s, which is not on loopback", s.name, port[1])
			}
		}
		if s.name != "index" && strings.TrimSpace(s.text("healthcheck")) == "" {
			t.Errorf("%s has no health check", s.name)
		}
		for _, mount := range regexp.MustCompile(`"([a-z0-9]+):/`).FindAllStringSubmatch(s.text("volumes"), -1) {
			if _, ok := named(declared, mount[1]); !ok {
				t.Errorf("%s mounts volume %s, which is not declared", s.name, mount[1])
			}
		}
	}
	by := func(name string) service { return services[slices.Index(names, name)] }
	for _, key := range []string{"ports", "container_name"} {
		if strings.TrimSpace(by("worker").text(key)) != "" {
			t.Errorf("worker has %s and does not scale", key)
		}
	}
	if !strings.Contains(by("synchronizer").text("volumes"), ":/tree:ro") {
		t.Error("the tree is not mounted read-only")
	}
	if !strings.Contains(by("mcp").text("environment"), "FRESHET_TOKEN: ${FRESHET_TOKEN:?") {
		t.Error("MCP over HTTP starts without a token")
	}
	if !strings.Contains(by("postgres").text("image"), "pgvector") {
		t.Error("PostgreSQL has no pgvector")
	}
}

// TestComposeCommands: the verbs and flags of docker-compose.yml are those of this binary,
// and the files that it builds with are there.
func TestComposeCommands(t *testing.T) {
	t.Parallel()
	services, _ := readCompose(t)
	seen := 0
	for _, s := range services {
		if strings.TrimSpace(s.text("image")) != "freshet:local" {
			continue
		}
		if build := s.text("build"); !strings.Contains(build, "dockerfile: .ci/Dockerfile") {
			t.Errorf("%s is built from %q", s.name, build)
		}
		var args []string
		if err := json.Unmarshal([]byte(strings.TrimSpace(s.text("command"))), &args); err != nil {
			t.Fatalf("command of %s: %v", s.name, err)
		}
		var out, errs bytes.Buffer
		code := cli.Program{Stdout: &out, Stderr: &errs}.Run(t.Context(), append(args, "--help"))
		if code != 0 {
			t.Errorf("%s: freshet %v exits with %d: %s", s.name, args, code, errs.String())
		}
		seen++
	}
	if seen != 4 {
		t.Errorf("%d services run freshet", seen)
	}
	for _, file := range []string{"Dockerfile", "health"} {
		if _, err := os.Stat(filepath.Join("..", "..", ".ci", file)); err != nil {
			t.Error(err)
		}
	}
}
