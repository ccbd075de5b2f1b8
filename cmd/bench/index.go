package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// process is what one run of a program took. Peak is the largest sum of resident memory
// over the process and its descendants, sampled.
type process struct {
	wall, cpu time.Duration
	peak      int64
	disk      int64
}

// measureIndex compares complete first indexes, stored, as whole processes.
func measureIndex(ctx context.Context, s settings) error {
	files, bytes, err := treeSize(s.repo)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "freshet-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	if s.program == "" {
		s.program = filepath.Join(work, "freshet")
		build := exec.CommandContext(ctx, "go", "build", "-o", s.program, "github.com/freshet/freshet/cmd/freshet")
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			return fmt.Errorf("build freshet: %w", err)
		}
	}
	s.printf("%s: %d files, %.1f MB; load %s\n", filepath.Base(s.repo), files, float64(bytes)/1e6, load())
	var ours, theirs []process
	for pair := range s.pairs {
		home := filepath.Join(work, fmt.Sprintf("home%d", pair))
		p, err := measure(ctx, s.repo, home, []string{"FRESHET_HOME=" + home}, s.program, "index", "--json", s.repo)
		if err != nil {
			return err
		}
		ours = append(ours, p)
		if s.rival == "" {
			continue
		}
		dir := filepath.Join(work, fmt.Sprintf("rival%d", pair))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		command := strings.Fields(strings.NewReplacer("{repo}", s.repo, "{dir}", dir).Replace(s.rival))
		if p, err = measure(ctx, s.repo, dir, nil, command[0], command[1:]...); err != nil {
			return err
		}
		theirs = append(theirs, p)
	}
	report(s, bytes, ours, theirs)
	return nil
}

func report(s settings, bytes int64, ours, theirs []process) {
	row := func(name string, of func(process) float64, unit string) {
		var a, b, ratios []float64
		for i, p := range ours {
			a = append(a, of(p))
			if len(theirs) > 0 {
				b = append(b, of(theirs[i]))
				ratios = append(ratios, of(p)/of(theirs[i]))
			}
		}
		s.printf("%-12s freshet %8.2f %s (min %.2f)", name, median(a), unit, quantile(a, 0))
		if len(theirs) > 0 {
			s.printf("   rival %8.2f %s (min %.2f)   ratio %.2f", median(b), unit, quantile(b, 0), median(ratios))
		}
		s.printf("\n")
	}
	row("wall", func(p process) float64 { return p.wall.Seconds() }, "s")
	row("cpu", func(p process) float64 { return p.cpu.Seconds() }, "s")
	row("peak memory", func(p process) float64 { return float64(p.peak) / 1e6 }, "MB")
	row("disk/source", func(p process) float64 { return float64(p.disk) / float64(bytes) }, "")
	s.printf("load %s\n", load())
}

// measure runs a command to its end, then measures the directory it wrote and removes it.
func measure(ctx context.Context, dir, made string, env []string, name string, args ...string) (process, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	var output strings.Builder
	cmd.Stderr = &output
	started := time.Now()
	if err := cmd.Start(); err != nil {
		return process{}, err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	var p process
	for {
		select {
		case err := <-done:
			p.wall = time.Since(started)
			if err != nil {
				return p, fmt.Errorf("%s: %w\n%s", name, err, output.String())
			}
			p.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
			p.disk, err = directorySize(made)
			return p, errors.Join(err, os.RemoveAll(made))
		case <-ticker.C:
			p.peak = max(p.peak, resident(cmd.Process.Pid))
		}
	}
}

// resident adds up the resident memory of a process and its descendants.
func resident(pid int) int64 {
	var total int64
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0
	}
	if fields := strings.Fields(string(data)); len(fields) > 1 {
		pages, _ := strconv.ParseInt(fields[1], 10, 64)
		total = pages * int64(os.Getpagesize())
	}
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, task := range tasks {
		children, err := os.ReadFile(task)
		if err != nil {
			continue
		}
		for _, child := range strings.Fields(string(children)) {
			if id, err := strconv.Atoi(child); err == nil {
				total += resident(id)
			}
		}
	}
	return total
}

func load() string {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	fields := strings.Fields(string(data))
	return strings.Join(fields[:min(3, len(fields))], " ")
}
