package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/freshet/freshet/mcp/tool"
)

func TestProgress(t *testing.T) {
	t.Parallel()
	reports := []struct {
		after time.Duration
		o     tool.Operation
	}{
		{50 * time.Millisecond, tool.Operation{Phase: tool.PhaseScanning, Counts: tool.Counts{FilesSeen: 10}}},
		{time.Second, tool.Operation{Phase: tool.PhaseScanning, Counts: tool.Counts{FilesSeen: 900}}},
		{100 * time.Millisecond, tool.Operation{Phase: tool.PhaseChunking, Counts: tool.Counts{FilesTotal: 1000}}},
		{2 * time.Second, tool.Operation{Phase: tool.PhaseChunking, Counts: tool.Counts{FilesTotal: 1000, FilesChunked: 400, FilesParked: 1}}},
		{time.Second, tool.Operation{Phase: tool.PhaseEmbedding, Waiting: "waiting 7s for the embedding provider: it limits the rate of requests", Counts: tool.Counts{FilesTotal: 1000, FilesChunked: 1000, FilesEmbedded: 500}}},
		{time.Second, tool.Operation{Phase: tool.PhaseSealing, Counts: tool.Counts{FilesTotal: 1000, FilesChunked: 1000, FilesEmbedded: 1000}}},
		{time.Millisecond, tool.Operation{Phase: tool.PhaseDone, Counts: tool.Counts{FilesTotal: 1000, FilesChunked: 1000, FilesEmbedded: 1000, FilesSealed: 1000}}},
	}
	cases := []struct {
		name     string
		terminal bool
		want     []string
	}{
		{"lines", false, []string{
			"index: scanning, 900 files seen\n",
			"index:  18 %  1000 files: 400 chunked, 0 embedded, 0 sealed, 1 parked  200 files/s, about 9s left\n",
			"index:  67 %  1000 files: 1000 chunked, 500 embedded, 0 sealed  waiting 7s for the embedding provider: it limits the rate of requests\n",
			"index:  90 %  1000 files: 1000 chunked, 1000 embedded, 0 sealed  250 files/s, about 0s left\n",
			"index: 100 %  1000 files: 1000 chunked, 1000 embedded, 1000 sealed, done\n",
		}},
		{"terminal", true, []string{
			"\rindex: scanning, 900 files seen\x1b[K",
			"\rindex: [....................]   0 %  1000 files: 0 chunked, 0 embedded, 0 sealed\x1b[K",
			"\rindex: [###.................]  18 %  1000 files: 400 chunked, 0 embedded, 0 sealed, 1 parked  200 files/s, about 9s left\x1b[K",
			"\rindex: [#############.......]  67 %  1000 files: 1000 chunked, 500 embedded, 0 sealed  waiting 7s for the embedding provider: it limits the rate of requests\x1b[K",
			"\rindex: [##################..]  90 %  1000 files: 1000 chunked, 1000 embedded, 0 sealed  250 files/s, about 0s left\x1b[K",
			"\rindex: [####################] 100 %  1000 files: 1000 chunked, 1000 embedded, 1000 sealed, done\x1b[K",
			"\n",
		}},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			now := time.Unix(0, 0)
			p := newProgress(&out, test.terminal, func() time.Time { return now })
			for _, report := range reports {
				now = now.Add(report.after)
				report.o.Kind = tool.OperationIndex
				if err := p.show(report.o); err != nil {
					t.Fatal(err)
				}
			}
			if err := p.end(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Join(test.want, ""), out.String()); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDefaultHome(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name string
		env  map[string]string
		want string
	}{
		{"named", map[string]string{"FRESHET_HOME": "/f", "XDG_DATA_HOME": "/x", "HOME": "/h"}, "/f"},
		{"data directory", map[string]string{"XDG_DATA_HOME": "/x", "HOME": "/h"}, "/x/freshet"},
		{"a relative one does not count", map[string]string{"XDG_DATA_HOME": "x", "HOME": "/h"}, "/h/.local/share/freshet"},
		{"home", map[string]string{"HOME": "/h"}, "/h/.local/share/freshet"},
		{"none", nil, ""},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := DefaultHome(func(key string) string { return test.env[key] }); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
