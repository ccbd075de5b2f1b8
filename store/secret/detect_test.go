package secret

import (
	"bytes"
	"fmt"
	"maps"
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
		"putty-private-key":         "Private-Lines: 2\n{b64:64}\n{b64:64}\nPrivate-MAC: x",
		"1password-service-account": "ops_eyJ{b64:250}", "adafruit-key": "aio_{an:28}", "anthropic-oauth-token": "sk-ant-oat01-{dash:93}AA",
		"artifactory-reference-token": "cmVmdGtuOj{an:54}", "atlassian-connect-token": "ATCTT3xFfG{dash:170}", "aws-bearer-key-id": "ABIA{b32:16}",
		"aws-context-key-id": "ACCA{b32:16}", "aws-bedrock-key": "ABSK{an:120}=", "bitbucket-app-password": "ATBB{an:32}", "cerebras-key": "csk-{an:48}",
		"clojars-token": "CLOJARS_{lo:60}", "defined-networking-token": "dnkey-{dash:26}-{dash:52}", "digitalocean-oauth-token": "doo_v1_{hex:64}",
		"digitalocean-refresh-token": "dor_v1_{hex:64}", "discord-webhook": "https://discord.com/api/webhooks/{num:19}/{dash:68}", "docker-organization-token": "dckr_oat_{dash:32}",
		"doppler-account-token": "dp.sa.{an:43}", "doppler-cli-token": "dp.ct.{an:43}", "doppler-service-token": "dp.st.prd.{an:43}", "duffel-test-token": "duffel_test_{dash:43}",
		"duffel-token": "duffel_live_{dash:43}", "easypost-test-key": "EZTK{an:54}", "facebook-access-token": "EAAC{an:150}", "facebook-page-token": "EAAM{an:150}",
		"flutterwave-key": "FLWSECK-{hex:32}-X", "flutterwave-test-key": "FLWSECK_TEST-{hex:32}-X", "fly-legacy-token": "fm1_{b64:200}", "fly-token": "fm2_{b64:200}",
		"frameio-token": "fio-u-{dash:64}", "gitlab-job-token": "glcbt-64_{dash:20}", "gitlab-mail-token": "glimt-{dash:25}", "gitlab-scim-token": "glsoat-{dash:20}",
		"google-refresh-token": "1//0{dash:80}", "grafana-api-key": "eyJrIjoi{an:80}", "huggingface-organization-token": "api_org_{an:34}", "infracost-key": "ico-{an:32}",
		"intra42-client-secret": "s-s4t2ud-{hex:64}", "langsmith-service-key": "lsv2_sk_{hex:32}_{hex:10}", "langsmith-token": "lsv2_pt_{hex:32}_{hex:10}",
		"linear-oauth-token": "lin_oauth_{hex:64}", "mapbox-secret-token": "sk.eyJ{an:80}.{dash:22}", "new-relic-browser-key": "NRJS-{hex:19}", "new-relic-insert-key": "NRII-{dash:32}",
		"nuget-key": "oy2{lo:43}", "octopus-deploy-key": "API-{up:26}", "openai-admin-key": "sk-admin-{dash:58}T3BlbkFJ{dash:58}", "planetscale-oauth-token": "pscale_oauth_{dash:43}",
		"planetscale-password": "pscale_pw_{dash:43}", "posthog-personal-key": "phx_{an:43}", "readme-key": "rdme_{lo:70}", "sentry-organization-token": "sntrys_eyJ{an:120}_{an:43}",
		"settlemint-application-token": "sm_aat_{an:16}", "settlemint-personal-token": "sm_pat_{an:16}", "shippo-test-key": "shippo_test_{hex:40}", "shopify-custom-token": "shpca_{hex:32}",
		"shopify-private-token": "shppa_{hex:32}", "slack-config-access-token": "xoxe.xoxp-1-{an:163}", "slack-config-token": "xoxe-1-{an:146}", "slack-legacy-token": "xoxs-{num:10}-{num:10}-{num:10}-{hex:10}",
		"slack-refresh-token": "xoxr-{num:12}-{num:12}-{an:24}", "slack-workspace-token": "xoxa-2-{num:12}-{num:12}-{num:12}-{hex:32}", "sourcegraph-token": "sgp_{hex:16}_{hex:40}",
		"stripe-restricted-test-key": "rk_test_{an:24}", "supabase-secret-key": "sb_secret_{dash:31}", "vercel-token": "vcp_{an:56}",
		"teams-webhook": "https://acme.webhook.office.com/webhookb2/{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}@{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}/IncomingWebhook/{hex:32}/{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}",
	}
}

// contexts are where credentials stand in files.
func contexts() []string {
	return []string{
		"%s", "key := \"%s\"\n", "export THE_KEY=%s\n", "value: %s\n", "value: '%s'\n", "{\"value\": \"%s\"}", "// %s\n", "# use %s, not the old one\n",
		"curl -H \"X-Key: %s\" https://example.com\n", "const k = `%s`;\n", "<value>%s</value>\n", "k=%s\r\nother=1\r\n",
		"https://api.service.net/v1?key=%s&limit=10\n", "client = Client('%s', timeout=3)\n", "os.Setenv(\"THE_KEY\", \"%s\")\n", "- THE_KEY=%s\n", "/* was %s. */\n",
		"[link](%s)\n", "{\"text\":\"line\\n%s\\n\"}\n",
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

// At least 0.98 of generated credentials of every rule, and 0.9 of each, in the
// contexts of ordinary files, are masked so that nothing that was drawn can be read.
func TestDetectsTheCredentialsOfPublicRules(t *testing.T) {
	t.Parallel()
	sampled := samples()
	for _, named := range namedSamples() {
		sampled[named.rule] = named.format
	}
	for _, rule := range Rules() {
		if sampled[rule] == "" {
			t.Errorf("the rule %s has no sample", rule)
		}
	}
	r := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same samples each time
	const draws = 20
	total, found, named := 0, 0, 0
	formats := samples()
	for _, rule := range slices.Sorted(maps.Keys(formats)) {
		format := formats[rule]
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
		"#define HASH_SECRET_KEY0 0xa9d5af4c9fbc76b1", "token: ft1_BXdvcmxkAmMxAqw2xeDucRYdC8dTA9icIJ3SNPQeN3K7PxYTZ-9558hG9lizEQ",
		"secretRef := kSecAttrAccessibleWhenUnlockedThisDeviceOnly2026",
		"loki-url: https://<user_id>:<password>@logs-prod-us-central1.grafana.net/loki/api/v1/push#Top", "password: process.env.DB_PASSWORD_2!",
		"#define SET_BIOS_PASSWORD_GUID \"2651D9FD-911C-4B69-B94E-D0DED5963BD7\"",
		"head := \"-----BEGIN RSA PRIVATE KEY-----\"\n" + strings.Repeat("if !bytes.HasPrefix(data, head) { return nil, errNoKey }\n", 40) + "foot := \"-----END RSA PRIVATE KEY-----\"\n",
	} {
		if spans := Find([]byte(text)); len(spans) > 0 {
			t.Errorf("%q: %+v", text, spans)
		}
	}
}

// A text may end anywhere, in a chunk, in a bounded read or in a message: in the middle of a
// value too, which is no reason to panic.
func TestMaskOfTextsThatEndAnywhere(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(13, 14)) //nolint:gosec // the same samples each time
	var texts []string
	for _, format := range []string{"password = \"{an:14}\"", "pwd: '{an:14}'", "#define DB_PASSWORD \"{an:14}!\"", "const TOKEN: &'static str = \"{an:24}\"", "token := []byte(\"{an:24}\")"} {
		text, _ := fill(r, format)
		texts = append(texts, text)
	}
	formats := samples()
	for i, rule := range slices.Sorted(maps.Keys(formats)) {
		sample, _ := fill(r, formats[rule])
		texts = append(texts, fmt.Sprintf(contexts()[i%len(contexts())], sample))
	}
	for _, text := range texts {
		for end := range len(text) + 1 {
			checkMask(t, []byte(text[:end]))
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
