package main

import (
	"bytes"
	"encoding/json"
	"go/version"
	"net"
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
	pinned := regexp.MustCompile(`^\S+:v?\d+\.\d+\.\d+(-\S+)?\s*$`)
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
	for _, name := range []string{"synchronizer", "index"} { // they share a tree and a data directory
		if user := by(name).text("user"); !strings.Contains(user, "${FRESHET_UID:-") && strings.TrimSpace(user) != "*owner" {
			t.Errorf("%s runs as %q, whoever owns the tree", name, user)
		}
	}
	if !strings.Contains(by("postgres").text("image"), "pgvector") {
		t.Error("PostgreSQL has no pgvector")
	}
}

// target is where a process of freshet serves its metrics.
type target struct{ service, port string }

// scraped reads the targets of Prometheus, and whether all of its jobs present the token.
func scraped(top []block) (targets []target, presented bool) {
	configs, _ := named(top, "configs")
	prometheus, _ := named(blocks(configs.lines, 2), "prometheus")
	jobs := strings.Split(strings.Join(prometheus.lines, "\n"), "- job_name:")[1:]
	names, port := regexp.MustCompile(`names: \[([^\]]+)\]`), regexp.MustCompile(`port: (\d+)`)
	presented = len(jobs) > 0
	for _, job := range jobs {
		presented = presented && strings.Contains(job, "credentials: ${FRESHET_TOKEN}") && strings.Contains(job, "type: A")
		for _, m := range names.FindAllStringSubmatch(job, -1) {
			for _, name := range strings.Split(m[1], ",") {
				targets = append(targets, target{strings.TrimSpace(name), append(port.FindStringSubmatch(job), "", "")[1]})
			}
		}
	}
	return targets, presented
}

// TestComposeIsScraped: Prometheus asks every process of freshet that stays, where it listens
// for other containers, and with the token, without which none of them starts.
func TestComposeIsScraped(t *testing.T) {
	t.Parallel()
	services, top := readCompose(t)
	shared, _ := named(top, "x-environment")
	if !strings.Contains(strings.Join(shared.lines, "\n"), "FRESHET_TOKEN: ${FRESHET_TOKEN:?") {
		t.Error("freshet starts without a token")
	}
	var want []target
	for _, s := range services {
		var args []string
		if strings.TrimSpace(s.text("image")) != "freshet:local" || json.Unmarshal([]byte(command(s)), &args) != nil || args[0] == "index" {
			continue
		}
		if !strings.Contains(s.text("environment"), "*environment") {
			t.Errorf("%s has not the environment of the others", s.name)
		}
		i := slices.IndexFunc(args, func(arg string) bool { return arg == "--listen" || arg == "--health" })
		if i < 0 {
			t.Errorf("%s serves no metrics", s.name)
			continue
		}
		host, port, err := net.SplitHostPort(args[i+1])
		if err != nil || host != "0.0.0.0" {
			t.Errorf("%s listens at %s, where no other container reaches it", s.name, args[i+1])
		}
		want = append(want, target{s.name, port})
		if check := s.text("healthcheck"); !strings.Contains(check, `"`+port+`", "/readyz"`) && !strings.Contains(check, "*health") {
			t.Errorf("%s: health is asked for elsewhere: %s", s.name, check)
		}
	}
	got, presented := scraped(top)
	if !presented {
		t.Error("a job of Prometheus does not present the token, or does not look its targets up")
	}
	byName := func(a, b target) int { return strings.Compare(a.service, b.service) }
	slices.SortFunc(got, byName)
	slices.SortFunc(want, byName)
	if !slices.Equal(got, want) || len(want) != 3 {
		t.Errorf("Prometheus asks %v, want %v", got, want)
	}
	for _, s := range services {
		if s.text("network_mode") != "\n" {
			t.Errorf("%s is in the network of another service", s.name)
		}
	}
}

// command is a service's command, on one line.
func command(s service) string {
	line, _, _ := strings.Cut(s.text("command"), " #")
	return strings.TrimSpace(line)
}

// TestBaseImagesArePinned: what the image is built from has a full version.
func TestBaseImagesArePinned(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join("..", "..", ".ci", "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	pinned := regexp.MustCompile(`^(golang:\d+\.\d+\.\d+-\S+|debian:\d+\.\d+-\S+)$`) // Debian's are of two numbers
	froms := regexp.MustCompile(`(?m)^FROM (\S+)`).FindAllStringSubmatch(string(data), -1)
	for _, from := range froms {
		if !pinned.MatchString(from[1]) {
			t.Errorf("image %s is not pinned", from[1])
		}
	}
	if len(froms) != 2 {
		t.Errorf("%d images", len(froms))
	}
}

// leastGo is the first Go without known faults in os.Root, which keeps reads inside a tree.
const leastGo = "go1.26.5"

// TestGoIsRecent: neither the image nor any other build takes an older Go.
func TestGoIsRecent(t *testing.T) {
	t.Parallel()
	for file, pattern := range map[string]string{filepath.Join(".ci", "Dockerfile"): `(?m)^FROM golang:([\d.]+)`, "go.mod": `(?m)^go ([\d.]+)$`} {
		data, err := os.ReadFile(filepath.Join("..", "..", file))
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(pattern).FindStringSubmatch(string(data))
		if len(found) != 2 || version.Compare("go"+found[1], leastGo) < 0 {
			t.Errorf("%s has %q, want %s or newer", file, found, leastGo)
		}
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
		if err := json.Unmarshal([]byte(command(s)), &args); err != nil {
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
