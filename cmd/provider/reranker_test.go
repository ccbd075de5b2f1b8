package provider_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/freshet/freshet/cmd/provider"
	"github.com/freshet/freshet/pipeline/rerank"
)

// variables is an environment.
type variables map[string]string

func (v variables) get(name string) string { return v[name] }

func TestRerankerFromEnvironment(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name string
		env  variables
		want provider.Reranker
	}{
		{"none", variables{"VOYAGE_API_KEY": "k", "COHERE_API_KEY": "k"}, provider.Reranker{}},
		{"voyage", variables{"FRESHET_RERANKER": "voyage", "VOYAGE_API_KEY": "k"},
			provider.Reranker{Kind: rerank.Voyage, Key: "k", Policy: rerank.PolicyAuto, Deadline: 800 * time.Millisecond}},
		{"a key of its own", variables{"FRESHET_RERANKER": "cohere", "COHERE_API_KEY": "theirs", "FRESHET_RERANKER_KEY": "ours"},
			provider.Reranker{Kind: rerank.Cohere, Key: "ours", Policy: rerank.PolicyAuto, Deadline: 800 * time.Millisecond}},
		{"everything", variables{"FRESHET_RERANKER": "compatible", "FRESHET_RERANKER_URL": "http://127.0.0.1:8080", "FRESHET_RERANKER_MODEL": "m",
			"FRESHET_RERANKER_KEY": "k", "FRESHET_RERANKER_POLICY": "force", "FRESHET_RERANKER_TIMEOUT_MS": "1500"},
			provider.Reranker{Kind: rerank.Compatible, URL: "http://127.0.0.1:8080", Model: "m", Key: "k", Policy: rerank.PolicyForce, Deadline: 1500 * time.Millisecond}},
		{"a key goes to its own address only", variables{"FRESHET_RERANKER": "voyage", "FRESHET_RERANKER_URL": "https://proxy.example.com", "VOYAGE_API_KEY": "k"},
			provider.Reranker{Kind: rerank.Voyage, URL: "https://proxy.example.com", Policy: rerank.PolicyAuto, Deadline: 800 * time.Millisecond}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := provider.RerankerFromEnvironment(c.env.get, false)
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestBadRerankerSettingsNameTheirVariable(t *testing.T) {
	t.Parallel()
	local := "http://127.0.0.1:8080"
	cases := []struct {
		name string
		env  variables
		want string
	}{
		{"unknown", variables{"FRESHET_RERANKER": "jina"}, "FRESHET_RERANKER is"},
		{"policy", variables{"FRESHET_RERANKER": "compatible", "FRESHET_RERANKER_URL": local, "FRESHET_RERANKER_POLICY": "on"}, "FRESHET_RERANKER_POLICY"},
		{"timeout in words", variables{"FRESHET_RERANKER": "compatible", "FRESHET_RERANKER_URL": local, "FRESHET_RERANKER_TIMEOUT_MS": "1s"}, "FRESHET_RERANKER_TIMEOUT_MS"},
		{"no timeout", variables{"FRESHET_RERANKER": "compatible", "FRESHET_RERANKER_URL": local, "FRESHET_RERANKER_TIMEOUT_MS": "0"}, "FRESHET_RERANKER_TIMEOUT_MS"},
		{"long timeout", variables{"FRESHET_RERANKER": "compatible", "FRESHET_RERANKER_URL": local, "FRESHET_RERANKER_TIMEOUT_MS": "60000"}, "FRESHET_RERANKER_TIMEOUT_MS"},
		{"no address", variables{"FRESHET_RERANKER": "compatible"}, "FRESHET_RERANKER_URL"},
		{"no key for voyage", variables{"FRESHET_RERANKER": "voyage", "COHERE_API_KEY": "k"}, "VOYAGE_API_KEY"},
		{"no key for cohere", variables{"FRESHET_RERANKER": "cohere", "VOYAGE_API_KEY": "k"}, "COHERE_API_KEY"},
		{"a key in the clear", variables{"FRESHET_RERANKER": "compatible", "FRESHET_RERANKER_URL": "http://example.com", "FRESHET_RERANKER_KEY": "hush"}, "FRESHET_RERANKER_KEY"},
		{"no scheme", variables{"FRESHET_RERANKER": "compatible", "FRESHET_RERANKER_URL": "localhost:8080"}, "FRESHET_RERANKER_URL"},
		{"an address alone", variables{"FRESHET_RERANKER_URL": local}, "FRESHET_RERANKER is not"},
		{"a policy alone", variables{"FRESHET_RERANKER_POLICY": "off"}, "FRESHET_RERANKER is not"},
		{"a timeout alone", variables{"FRESHET_RERANKER_TIMEOUT_MS": "100"}, "FRESHET_RERANKER is not"},
	}
	for _, c := range cases {
		for _, leaves := range []bool{false, true} {
			_, err := provider.RerankerFromEnvironment(c.env.get, leaves)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hush") {
				t.Errorf("%s, text leaves %v: error is %v, want it to name %s", c.name, leaves, err, c.want)
			}
		}
	}
}

func TestRerankerOpens(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name   string
		env    variables
		leaves bool
		opens  bool
		bytes  int
		off    string // why it is not asked
	}{
		{"none", variables{}, false, false, 0, ""},
		{"off", variables{"FRESHET_RERANKER": "voyage", "VOYAGE_API_KEY": "k", "FRESHET_RERANKER_POLICY": "off"}, true, false, 0, "the policy is off"},
		{"local", variables{"FRESHET_RERANKER": "compatible", "FRESHET_RERANKER_URL": "http://[::1]:8080"}, false, true, 1200, ""},
		{"over the network", variables{"FRESHET_RERANKER": "voyage", "VOYAGE_API_KEY": "k"}, false, true, 2000, "not on this machine"},
		{"like the texts to embed", variables{"FRESHET_RERANKER": "voyage", "VOYAGE_API_KEY": "k"}, true, true, 2000, ""},
		{"forced", variables{"FRESHET_RERANKER": "voyage", "VOYAGE_API_KEY": "k", "FRESHET_RERANKER_POLICY": "force"}, false, true, 2000, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, err := provider.RerankerFromEnvironment(c.env.get, c.leaves)
			if err != nil {
				t.Fatal(err)
			}
			opened, err := r.Open()
			if err != nil || (opened.Reranker != nil) != c.opens || opened.Bytes != c.bytes {
				t.Errorf("opened %+v, %v, want one: %v of %d bytes", opened, err, c.opens, c.bytes)
			}
			service, off := r.Describe()
			if (service == "") != (len(c.env) == 0) || (off == "") != (c.off == "") || !strings.Contains(off, c.off) {
				t.Errorf("described as %q, off because %q, want %q", service, off, c.off)
			}
		})
	}
}
