package secret

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// samples are the formats that services publish, by rule: {an:36} is 36 random letters and
// digits, {hex:40}, {up:16}, {lo:32}, {dash:20}, {b64:88}, {num:9} are of other alphabets.
// They are written down beside the rules, not made of them.
func samples() map[string]string {
	return map[string]string{
		"aws-access-key-id": "AKIA{b32:16}", "aws-temporary-key-id": "ASIA{b32:16}", "aws-secret-access-key": "aws_secret_access_key={b64:40}",
		"github-token": "ghp_{an:36}", "github-oauth-token": "gho_{an:36}", "github-app-token": "ghu_{an:36}", "github-server-token": "ghs_{an:36}",
		"github-refresh-token": "ghr_{an:36}", "github-fine-grained-token": "github_pat_{an:22}_{an:59}", "gitlab-token": "glpat-{dash:20}",
		"gitlab-trigger-token": "glptt-{hex:40}", "gitlab-runner-registration-token": "GR1348941{dash:20}", "gitlab-runner-token": "glrt-{an:20}",
		"gitlab-deploy-token": "gldt-{an:20}", "gitlab-feed-token": "glft-{an:20}", "gitlab-agent-token": "glagent-{an:50}", "gitlab-oauth-secret": "gloas-{hex:64}",
		"slack-bot-token": "xoxb-{num:12}-{num:12}-{an:24}", "slack-user-token": "xoxp-{num:12}-{num:12}-{num:12}-{hex:32}", "slack-app-token": "xapp-1-A{up:10}-{num:13}-{hex:64}",
		"slack-webhook": "https://hooks.slack.com/services/T{up:8}/B{up:10}/{an:24}", "stripe-key": "sk_live_{an:24}", "stripe-test-key": "sk_test_{an:24}",
		"stripe-restricted-key": "rk_live_{an:24}", "stripe-webhook-secret": "whsec_{an:32}", "openai-key": "sk-{an:20}T3BlbkFJ{an:20}",
		"openai-project-key": "sk-proj-{an:60}T3BlbkFJ{an:60}", "openai-service-key": "sk-svcacct-{dash:58}T3BlbkFJ{dash:58}", "anthropic-key": "sk-ant-api03-{dash:93}AA",
		"anthropic-admin-key": "sk-ant-admin01-{dash:93}AA", "npm-token": "npm_{an:36}", "pypi-token": "pypi-AgEIcHlwaS5vcmc{dash:90}", "google-api-key": "AIza{dash:35}",
		"google-client-secret": "GOCSPX-{dash:28}", "google-oauth-token": "ya29.{dash:120}", "sendgrid-key": "SG.{dash:22}.{dash:43}", "mailgun-key": "key-{hex:32}",
		"shopify-access-token": "shpat_{hex:32}", "shopify-shared-secret": "shpss_{hex:32}", "square-token": "sq0atp-{dash:22}", "square-secret": "sq0csp-{dash:43}",
		"digitalocean-token": "dop_v1_{hex:64}", "docker-token": "dckr_pat_{dash:27}", "huggingface-token": "hf_{an:34}", "vault-service-token": "hvs.{dash:95}",
		"vault-batch-token": "hvb.{dash:140}", "terraform-cloud-token": "{an:14}.atlasv1.{dash:67}", "databricks-token": "dapi{hex:32}", "new-relic-user-key": "NRAK-{up:27}",
		"grafana-service-account-token": "glsa_{an:32}_{hex:8}", "grafana-cloud-token": "glc_{an:60}", "linear-key": "lin_api_{an:40}", "notion-token": "ntn_{an:46}",
		"postman-key": "PMAK-{hex:24}-{hex:34}", "pulumi-token": "pul-{hex:40}", "rubygems-key": "rubygems_{hex:48}", "sentry-user-token": "sntryu_{hex:64}",
		"telegram-bot-token": "{num:10}:AA{dash:33}", "doppler-personal-token": "dp.pt.{an:43}", "dynatrace-token": "dt0c01.{up:24}.{up:64}", "easypost-key": "EZAK{an:54}",
		"planetscale-token": "pscale_tkn_{an:43}", "prefect-token": "pnu_{lo:36}", "sendinblue-key": "xkeysib-{hex:64}-{an16:16}", "shippo-key": "shippo_live_{hex:40}",
		"typeform-token": "tfp_{dash:59}", "age-secret-key": "AGE-SECRET-KEY-1{up:58}", "alibaba-access-key": "LTAI{an:20}", "artifactory-key": "AKCp{an:69}",
		"atlassian-token": "ATATT3{dash:186}", "cloudflare-origin-ca-key": "v1.0-{hex:24}-{hex:146}", "contentful-token": "CFPAT-{dash:43}", "buildkite-token": "bkua_{hex:40}",
		"heroku-key": "HRKU-AA{dash:58}", "openshift-token": "sha256~{dash:43}", "perplexity-key": "pplx-{an:48}", "replicate-token": "r8_{an:37}", "groq-key": "gsk_{an:52}",
		"xai-key": "xai-{an:80}", "supabase-token": "sbp_{hex:40}", "tailscale-key": "tskey-auth-{an:12}CNTRL-{an:32}", "netlify-token": "nfp_{an:36}",
		"yandex-key": "AQVN{dash:36}", "figma-token": "figd_{dash:40}", "azure-client-secret": "{an:3}7Q~{dash:34}", "azure-storage-key": "AccountKey={b64:86}==",
		"json-web-token": "eyJhbGciOiJIUzI1NiJ9.eyJ{an:40}.{dash:43}", "url-password": "postgres://svc:{an:24}@db.internal:5432/app", "heroku-api-key": "HEROKU_API_KEY={hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}",
		"datadog-key": "DD_API_KEY={hex:32}", "twilio-key": "TWILIO_AUTH_TOKEN={hex:32}", "cloudflare-token": "CLOUDFLARE_API_TOKEN={dash:40}",
		"npm-auth-token": "//registry.npmjs.org/:_authToken={b64:40}", "docker-auth": `"auth": "{b64:40}"`, "authorization-header": "Authorization: Bearer {an:40}",
		"generic-credential": "internal_api_key = \"{an:32}\"", "mailchimp-key": "MAILCHIMP_API_KEY={hex:32}-us12", "private-key": "-----BEGIN RSA PRIVATE KEY-----\n{b64:64}\n{b64:64}\n{b64:40}\n-----END RSA PRIVATE KEY-----",
		"putty-private-key": "Private-Lines: 2\n{b64:64}\n{b64:64}\nPrivate-MAC: x",
	}
}

// contexts are where credentials stand in files.
func contexts() []string {
	return []string{
		"%s", "key := \"%s\"\n", "export THE_KEY=%s\n", "value: %s\n", "value: '%s'\n", "{\"value\": \"%s\"}", "// %s\n", "# use %s, not the old one\n",
		"curl -H \"X-Key: %s\" https://example.com\n", "const k = `%s`;\n", "<value>%s</value>\n", "k=%s\r\nother=1\r\n",
	}
}

var sampled = regexp.MustCompile(`\{(\w+):(\d+)\}`)

// fill draws a sample, and returns it with the parts that were drawn.
func fill(r *rand.Rand, format string) (text string, drawn []string) {
	alphabets := map[string]string{
		"an": digits + smallLetter + bigLetter, "an16": digits + smallLetter + bigLetter, "hex": digits + "abcdef", "up": digits + bigLetter, "lo": digits + smallLetter, "b32": bigLetter + "234567",
		"num": digits, "dash": digits + smallLetter + bigLetter + "_-", "b64": digits + smallLetter + bigLetter + "+/",
	}
	text = sampled.ReplaceAllStringFunc(format, func(part string) string {
		m := sampled.FindStringSubmatch(part)
		n, _ := strconv.Atoi(m[2])
		letters := alphabets[m[1]]
		out := make([]byte, n)
		for i := range out {
			out[i] = letters[r.IntN(len(letters))]
		}
		for _, end := range []int{0, n - 1} { // a separator at an end belongs to no token
			for strings.IndexByte("-_", out[end]) >= 0 {
				out[end] = letters[r.IntN(len(letters))]
			}
		}
		drawn = append(drawn, string(out))
		return string(out)
	})
	return text, drawn
}

// At least 0.98 of generated credentials of each of more than 60 published formats, in the
// contexts of ordinary files, are masked so that nothing that was drawn can be read.
func TestDetectsTheCredentialsOfPublicRules(t *testing.T) {
	t.Parallel()
	if len(samples()) < 60 {
		t.Fatalf("only %d rules have samples", len(samples()))
	}
	r := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same samples each time
	const draws = 20
	total, found, named := 0, 0, 0
	for rule, format := range samples() {
		if !slices.Contains(Rules(), rule) {
			t.Errorf("there is no rule %s", rule)
		}
		missed := 0
		for range draws {
			for _, context := range contexts() {
				text, drawn := fill(r, format)
				if strings.Contains(text, "\n") && strings.Contains(context, "<value>") {
					continue
				}
				whole := fmt.Sprintf(context, text)
				masked, spans := Mask([]byte(whole))
				total++
				if shows(masked, drawn) {
					missed++
					if missed == 1 {
						t.Logf("%s: missed in %q", rule, whole)
					}
					continue
				}
				found++
				if slices.ContainsFunc(spans, func(s Span) bool { return s.Rule == rule }) {
					named++
				}
			}
		}
		if missed*10 > draws*len(contexts()) {
			t.Errorf("%s: %d of %d missed", rule, missed, draws*len(contexts()))
		}
	}
	rate := float64(found) / float64(total)
	t.Logf("%d rules, %d samples: %.4f masked, %.4f under their own rule", len(samples()), total, rate, float64(named)/float64(total))
	if rate < 0.98 {
		t.Errorf("only %.4f of the credentials are masked", rate)
	}
}

// shows reports whether a part that was drawn can be read, but for short ones.
func shows(masked []byte, drawn []string) bool {
	for _, part := range drawn {
		if len(part) >= 12 && bytes.Contains(masked, []byte(part)) {
			return true
		}
	}
	return false
}

func TestMaskKeepsLengthAndLines(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4)) //nolint:gosec // the same samples each time
	var text bytes.Buffer
	for _, format := range samples() {
		sample, _ := fill(r, format)
		text.WriteString("first line\r\nkey = \"" + sample + "\"\nlast \u00e9 line\n")
	}
	checkMask(t, text.Bytes())
	masked, spans := Mask(text.Bytes())
	if len(spans) < 60 || !bytes.Contains(masked, []byte("[masked github-token]****")) {
		t.Errorf("%d spans", len(spans))
	}
}

// checkMask checks what holds of every masked text.
func checkMask(t *testing.T, data []byte) {
	t.Helper()
	before := bytes.Clone(data)
	masked, spans := Mask(data)
	if !bytes.Equal(before, data) {
		t.Fatal("the text itself was changed")
	}
	if len(masked) != len(data) {
		t.Fatalf("%d bytes of %d", len(masked), len(data))
	}
	end := 0
	for _, s := range spans {
		if s.Start < end || s.End <= s.Start || s.End > len(data) {
			t.Fatalf("span %+v after %d of %d bytes", s, end, len(data))
		}
		if !bytes.Equal(masked[end:s.Start], data[end:s.Start]) {
			t.Fatal("text outside of the spans was changed")
		}
		end = s.End
	}
	for i := range data {
		if (data[i] == '\n') != (masked[i] == '\n') {
			t.Fatalf("line ends differ at %d", i)
		}
	}
	if again, spans := Mask(masked); !bytes.Equal(again, masked) {
		t.Fatalf("masked again: %+v", spans)
	}
}

// What stands for a credential, and code that speaks of credentials, is left alone.
func TestOrdinaryCodeIsNotMasked(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"token := getTokenFromContext(ctx, request)", "apiKey: process.env.SERVICE_API_KEY_2024", "password = os.environ[\"DB_PASSWORD_V2\"]", "AKIAIOSFODNN7EXAMPLE",
		"aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "postgres://user:password@localhost/db", "https://$USER:$TOKEN@host/x",
		"if strings.Contains(s, \"-----BEGIN RSA PRIVATE KEY-----\") {", "secret: kubernetes.io/service-account-token-v2", "\"tokenizer\": \"sentencepiece-bpe-v1.2.3\"",
		"const tokenURL = \"https://example.com/oauth2/v1/token\"", "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "key-value store", "password: \"hunter\"",
		"client_secret_basic", "https://github.com/x/y/blob/4f9e0a3d1c5b7a9e8f6d2c4b0a1e3f5d7c9b8a60/z.go#L3", "password := flag.String(\"password\", \"\", \"the password\")",
	} {
		if spans := Find([]byte(text)); len(spans) > 0 {
			t.Errorf("%q: %+v", text, spans)
		}
	}
}

// A private key that chunks divide is covered in each part; certificates are not.
func TestMaskFragmentCoversThePartsOfAKey(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 8)) //nolint:gosec // the same samples each time
	body, drawn := fill(r, "{b64:64}\n{b64:64}\n{b64:64}\n{b64:64}\n{b64:64}\n{b64:64}\n{b64:30}\n")
	whole := "key: |\n-----BEGIN PRIVATE KEY-----\n" + body + "-----END PRIVATE KEY-----\nlast\n"
	for cut := 0; cut < len(whole); cut++ {
		if whole[cut] != '\n' {
			continue
		}
		for _, part := range []string{whole[:cut+1], whole[cut+1:]} {
			if strings.Count(part, "\n") < 5 {
				continue // too little to tell
			}
			masked, _ := MaskFragment(part)
			if shows([]byte(masked), drawn) || len(masked) != len(part) {
				t.Errorf("a part shows the key: %q", masked)
			}
		}
	}
	certificate := strings.ReplaceAll(whole, "PRIVATE KEY", "CERTIFICATE")
	if masked, spans := MaskFragment(certificate); masked != certificate {
		t.Errorf("a certificate is masked: %v", spans)
	}
}

func TestMemoryMasksWhatHoldsCredentialsEachTime(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(9, 10)) //nolint:gosec // the same samples each time
	token, drawn := fill(r, "ghp_{an:36}")
	var m Memory
	for range 2 {
		if shows(m.Mask([32]byte{1}, []byte(token)), drawn) || shows((*Memory)(nil).Mask([32]byte{1}, []byte(token)), drawn) {
			t.Error("a credential is shown")
		}
		if got := m.Mask([32]byte{2}, []byte("text")); string(got) != "text" {
			t.Errorf("got %q", got)
		}
	}
}

func FuzzMask(f *testing.F) {
	r := rand.New(rand.NewPCG(5, 6)) //nolint:gosec // seeds
	for _, format := range samples() {
		sample, _ := fill(r, format)
		f.Add([]byte("x = \"" + sample + "\"\n"))
	}
	f.Add([]byte("-----BEGIN PRIVATE KEY-----"))
	f.Add([]byte("private-lines:"))
	f.Fuzz(func(t *testing.T, data []byte) { checkMask(t, data) })
}

func BenchmarkFind(b *testing.B) {
	line := []byte("\tif err := m.Store.PutVectors(ctx, m.key, records, done); err != nil { // a token of https://example.com/secret\n")
	text := bytes.Repeat(line, 1<<20/len(line))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Find(text)
	}
}
