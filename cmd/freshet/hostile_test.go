package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience is how long a run may take before it counts as hung.
const patience = 5 * time.Minute

// answer is what the tests here read of an envelope.
type answer struct {
	Status    string            `json:"status"`
	State     string            `json:"state"`
	Results   []json.RawMessage `json:"results"`
	Equal     bool              `json:"equal"`
	Operation struct {
		Counts struct {
			FilesTotal int `json:"files_total"`
			Chunks     int `json:"chunks"`
		} `json:"counts"`
	} `json:"operation"`
	Error struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// decode reads the one JSON value that a run printed.
func decode(t *testing.T, stdout []byte) answer {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(stdout))
	var a answer
	if err := decoder.Decode(&a); err != nil {
		t.Errorf("stdout is not JSON: %v: %.200q", err, stdout)
	}
	if decoder.More() {
		t.Errorf("stdout has more than one JSON value: %.200q", stdout)
	}
	return a
}

// finish waits for a started command, and kills it and fails the test when it hangs.
func finish(t *testing.T, cmd *exec.Cmd) error {
	t.Helper()
	timer := time.AfterFunc(patience, func() {
		t.Errorf("%v hangs", cmd.Args)
		_ = cmd.Process.Kill()
	})
	defer timer.Stop()
	return cmd.Wait()
}

// writeTree makes a tree of n small files.
func writeTree(t *testing.T, dir string, n int) {
	t.Helper()
	for i := range n {
		path := filepath.Join(dir, fmt.Sprintf("package%d", i%7), fmt.Sprintf("file%d.go", i))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		source := fmt.Sprintf("package made\n\n// Value%d is number %d.\nfunc Value%d() int { return %d }\n", i, i, i, i)
		if err := os.WriteFile(path, []byte(source), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// grouped puts a command and the parsing processes that it starts into a group of its own.
func grouped(cmd *exec.Cmd) *exec.Cmd {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// members lists the processes of the groups that commands led.
func members(t *testing.T, leaders []int) []string {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, path := range all {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // it ended meanwhile
		}
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:])) // state, parent, group
		if group, err := strconv.Atoi(fields[2]); err == nil && fields[0] != "Z" && slices.Contains(leaders, group) {
			found = append(found, filepath.Base(filepath.Dir(path)))
		}
	}
	return found
}

// expectNoChildren waits until no process of the groups is left.
func expectNoChildren(t *testing.T, leaders ...int) {
	t.Helper()
	deadline := time.NewTimer(5 * time.Minute)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		left := members(t, leaders)
		if len(left) == 0 {
			return
		}
		select {
		case <-deadline.C:
			t.Errorf("processes are left over: %v", left)
			return
		case <-tick.C:
		}
	}
}

// TestManyProcesses runs searches at once on one data directory and kills some of them: the
// others answer, one after another of them being the host, and nobody is left behind.
func TestManyProcesses(t *testing.T) {
	t.Parallel()
	p := program{t: t, home: filepath.Join(t.TempDir(), "home"), dir: t.TempDir()}
	writeTree(t, p.dir, 150)
	random := rand.New(rand.NewPCG(3, 5))
	var group sync.WaitGroup
	var leaders []int
	for i := range 20 {
		cmd := grouped(p.command("search", "--json", "--mode", "text", "--max-wait", "5m", "Value77"))
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		leaders = append(leaders, cmd.Process.Pid)
		var killer *time.Timer
		if i%3 == 0 {
			killer = time.AfterFunc(time.Duration(random.IntN(900))*time.Millisecond, func() { _ = cmd.Process.Kill() })
		}
		group.Go(func() {
			err := finish(t, cmd)
			if killer != nil {
				killer.Stop()
			}
			var ended *exec.ExitError
			if errors.As(err, &ended) && !ended.Exited() {
				return // it was killed
			}
			if a := decode(t, stdout.Bytes()); err != nil || len(a.Results) == 0 {
				t.Errorf("search %d: %v: %+v\n%s", i, err, a, stderr.String())
			}
		})
	}
	group.Wait()
	var verified answer
	p.run(&verified, "verify")
	if !verified.Equal {
		t.Error("the index differs from a rebuild")
	}
	expectNoChildren(t, leaders...)
}

// TestInterrupt stops an index with SIGINT, again and again: each run says how to resume,
// leaves no process, and what was chunked is not chunked again.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	const files = 500
	p := program{t: t, home: filepath.Join(t.TempDir(), "home"), dir: t.TempDir()}
	writeTree(t, p.dir, files)
	chunked, interrupted := 0, 0
	for round := 0; round < 12 && interrupted < 4; round++ {
		cmd := grouped(p.command("index", "--json"))
		var stdout bytes.Buffer
		cmd.Stdout = &stdout
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(time.Duration(200+150*round)*time.Millisecond, func() { _ = cmd.Process.Signal(syscall.SIGINT) })
		err := finish(t, cmd)
		timer.Stop()
		expectNoChildren(t, cmd.Process.Pid)
		var ended *exec.ExitError
		if errors.As(err, &ended) && !ended.Exited() {
			continue // before the program had begun to listen
		}
		a := decode(t, stdout.Bytes())
		chunked += a.Operation.Counts.Chunks
		if err == nil {
			break
		}
		interrupted++
		if ended.ExitCode() != 1 || a.Error.Code != "interrupted" || !strings.Contains(a.Error.Message, "resume") {
			t.Errorf("round %d: %v: %+v", round, err, a)
		}
	}
	var last, verified answer
	p.run(&last, "index")
	p.run(&verified, "verify")
	if !verified.Equal {
		t.Error("the index differs from a rebuild")
	}
	if interrupted == 0 {
		t.Error("no run was interrupted: the test proves nothing")
	}
	if chunked += last.Operation.Counts.Chunks; chunked > files {
		t.Errorf("%d chunks were made of %d files with one each", chunked, files)
	}
}

var allDisks = flag.Bool("disks.all", false, "fill disks of every size, not today's third")

// TestFullDisk indexes onto disks of many small sizes, mounted in a namespace of their own,
// under the whole data directory or under the event log alone. Each run ends, says that
// the disk is full, and loses nothing.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	if err := exec.Command("unshare", "--user", "--map-root-user", "--mount", "mount", "-t", "tmpfs", "tmpfs", t.TempDir()).Run(); err != nil {
		t.Skip("this system mounts nothing for a test: ", err)
	}
	const script = `
mkdir -p "$5" && mount -t tmpfs -o size="$1"k,mode=700 tmpfs "$5" || exit 99
"$0" index --json > "$2"
code=$?
mount -o remount,size=256m "$5" || exit 99
"$0" index --json > "$3" && "$0" verify --json > "$4" || exit 98
exit $code`
	dir := t.TempDir()
	writeTree(t, dir, 300)
	full := 0
	today := int(time.Now().Unix() / 86400)
	for i, disk := range []struct {
		size int // in KiB
		of   string
	}{{64, ""}, {300, ""}, {600, ""}, {900, ""}, {1200, ""}, {1800, ""}, {24, "log"}, {64, "log"}, {100, "log"}} {
		if !*allDisks && i%3 != today%3 {
			continue
		}
		size := disk.size
		p := program{t: t, home: t.TempDir(), dir: dir}
		out := t.TempDir()
		first, verify := filepath.Join(out, "first"), filepath.Join(out, "verify")
		inner := p.command()
		cmd := exec.Command("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script,
			inner.Path, strconv.Itoa(size), first, filepath.Join(out, "second"), verify, filepath.Join(p.home, disk.of))
		cmd.Dir, cmd.Env = inner.Dir, inner.Env
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		err := finish(t, cmd)
		var ended *exec.ExitError
		if err != nil && (!errors.As(err, &ended) || ended.ExitCode() != 1) {
			t.Fatalf("%d KiB: %v\n%s", size, err, stderr.String())
		}
		stdout, rerr := os.ReadFile(first)
		if rerr != nil {
			t.Fatal(rerr)
		}
		a := decode(t, stdout)
		if err != nil {
			full++
			if !strings.Contains(a.Error.Message, "disk is full") {
				t.Errorf("%d KiB: %+v", size, a.Error)
			}
		}
		after, rerr := os.ReadFile(verify)
		if rerr != nil {
			t.Fatal(rerr)
		}
		if !decode(t, after).Equal {
			t.Errorf("%d KiB: the index differs from a rebuild once there is room", size)
		}
	}
	if full == 0 || *allDisks && full < 5 {
		t.Errorf("only %d disks were too small: the test proves little", full)
	}
}
