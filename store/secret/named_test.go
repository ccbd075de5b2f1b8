package secret

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// namedSample is a credential whose value has no prefix of its own: the words of the name
// that the service's documents give it, and the published form of the value (see samples).
type namedSample struct{ rule, name, format string }

// namedSamples are written after the documents of the services.
func namedSamples() []namedSample {
	return []namedSample{
		{"aws-secret-access-key", "aws secret access key", "{b64:40}"}, {"aws-session-token", "aws session token", "{b64:356}"},
		{"azure-storage-key", "azure storage account key", "{b64:86}=="}, {"azure-client-secret", "azure client secret", "{an:3}8Q~{dash:34}"},
		{"airtable-key", "airtable api key", "key{an:14}"}, {"airtable-key", "airtable token", "pat{an:14}.{hex:64}"},
		{"algolia-key", "algolia admin api key", "{hex:32}"}, {"asana-secret", "asana client secret", "{lo:32}"},
		{"cloudflare-token", "cloudflare api token", "{dash:40}"}, {"cloudflare-token", "cf api key", "{hex:37}"},
		{"codecov-token", "codecov token", "{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}"}, {"cohere-key", "cohere api key", "{an:40}"},
		{"datadog-key", "dd api key", "{hex:32}"}, {"datadog-key", "datadog app key", "{hex:40}"},
		{"discord-token", "discord bot token", "M{an:23}.{dash:6}.{dash:38}"}, {"dropbox-token", "dropbox access token", "sl.{dash:136}"},
		{"fastly-token", "fastly api token", "{dash:32}"}, {"heroku-api-key", "heroku api key", "{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}"},
		{"hubspot-key", "hubspot api key", "{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}"}, {"launchdarkly-key", "launchdarkly access token", "{dash:40}"},
		{"mailchimp-key", "mailchimp api key", "{hex:32}-us{num:1}"}, {"mailchimp-key", "mailchimp api key", "{hex:32}-us1{num:1}"},
		{"mistral-key", "mistral api key", "{an:32}"}, {"okta-token", "okta api token", "00{dash:40}"},
		{"pagerduty-key", "pagerduty api key", "{an:20}"}, {"pagerduty-key", "pagerduty integration key", "{hex:32}"},
		{"rollbar-token", "rollbar access token", "{hex:32}"}, {"snyk-token", "snyk token", "{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}"},
		{"sonar-token", "sonar token", "{hex:40}"}, {"sonar-token", "sonar token", "sqp_{hex:40}"}, {"travis-token", "travis api token", "{an:22}"},
		{"twilio-key", "twilio auth token", "{hex:32}"}, {"twitch-token", "twitch client secret", "{lo:30}"},
		{"twitter-secret", "twitter access token secret", "{an:45}"}, {"npm-auth-token", "npm auth token", "{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}"},
		{"generic-credential", "internal api key", "{an:32}"}, {"generic-credential", "session secret", "{hex:64}"}, {"generic-credential", "signing key", "{b64:43}="},
		{"generic-credential", "refresh token", "{dash:43}"}, {"generic-credential", "encryption key", "{hex:32}"}, {"generic-credential", "client secret", "{an:40}"},
		{"generic-credential", "webhook secret", "{an:24}"}, {"password", "db password", "{an:16}!{num:4}"},
	}
}

// namedContexts are the lines in which programs, configurations and commands give a name its
// value: %[1]s is UPPER_SNAKE, %[2]s lower_snake, %[3]s camelCase, %[4]s kebab-case,
// %[5]s PascalCase, %[6]s the value. A format uses one of the names.
func namedContexts() map[string]string {
	return map[string]string{
		"Go constant":         "const %[3]s = \"%[6]s\"\n",
		"Go field":            "cfg := Config{Region: \"eu-1\", %[5]s: \"%[6]s\"}\n",
		"Go environment":      "os.Setenv(\"%[1]s\", \"%[6]s\")\n",
		"Python":              "%[2]s = '%[6]s'\n",
		"Python constant":     "%[1]s = \"%[6]s\"  # rotated in May\n",
		"Python environment":  "os.environ[\"%[1]s\"] = \"%[6]s\"\n",
		"Python argument":     "client = Client(host, %[2]s=\"%[6]s\", timeout=3)\n",
		"Python dictionary":   "settings = {\"%[2]s\": \"%[6]s\", \"debug\": False}\n",
		"YAML":                "service:\n  %[2]s: %[6]s\n  port: 80\n",
		"YAML, quoted":        "service:\n  %[3]s: \"%[6]s\"\n",
		"YAML, dashes":        "  %[4]s: '%[6]s'\n",
		"JSON":                "{\n  \"%[3]s\": \"%[6]s\",\n  \"port\": 80\n}\n",
		"JSON, compact":       "{\"%[2]s\":\"%[6]s\",\"port\":80}\n",
		"JSON in a string":    "body := \"{\\\"%[2]s\\\":\\\"%[6]s\\\"}\"\n",
		".env":                "PORT=80\n%[1]s=%[6]s\nDEBUG=0\n",
		".env, quoted":        "%[1]s=\"%[6]s\"\r\n",
		"shell":               "export %[1]s=%[6]s\n",
		"shell, quoted":       "export %[1]s='%[6]s' # for the job\n",
		"Dockerfile":          "ENV %[1]s=%[6]s\n",
		"compose":             "    environment:\n      - %[1]s=%[6]s\n",
		"flag":                "deploy --%[4]s=%[6]s --wait\n",
		"properties":          "app.%[4]s=%[6]s\n",
		"TOML":                "[client]\n%[2]s = \"%[6]s\"\n",
		"Terraform":           "  %[2]s   = \"%[6]s\"\n",
		"JavaScript":          "const client = new Client({ %[3]s: '%[6]s' });\n",
		"JavaScript property": "module.exports.%[3]s = `%[6]s`;\n",
		"TypeScript":          "const %[3]s: string = \"%[6]s\";\n",
		"Java":                "private static final String %[1]s = \"%[6]s\";\n",
		"Kotlin":              "val %[3]s: String = \"%[6]s\"\n",
		"Rust":                "const %[1]s: &str = \"%[6]s\";\n",
		"C":                   "#define %[1]s \"%[6]s\"\n",
		"PHP":                 "'%[2]s' => '%[6]s',\n",
		"Ruby":                "config.%[2]s = '%[6]s'\n",
		"comment":             "// the old %[2]s: %[6]s\n",
		"comment of a script": "# %[1]s=%[6]s\n",
		"URL":                 "https://api.service.net/v1/items?%[2]s=%[6]s&limit=10\n",
		"header of a request": "curl -H 'X-%[4]s: %[6]s' https://api.service.net\n",
		"XML":                 "<%[2]s>%[6]s</%[2]s>\n",
		"XML attribute":       "<add key=\"%[5]s\" value=\"%[6]s\" />\n",
		"connection string":   "Endpoint=sb://x.net/;%[5]s=%[6]s;Mode=1\n",
	}
}

// styles returns a name as languages write it: UPPER_SNAKE, lower_snake, camelCase, kebab-case,
// PascalCase.
func styles(name string) [5]string {
	words := strings.Fields(name)
	var pascal string
	for _, w := range words {
		pascal += strings.ToUpper(w[:1]) + w[1:]
	}
	snake := strings.Join(words, "_")
	return [5]string{strings.ToUpper(snake), snake, strings.ToLower(pascal[:1]) + pascal[1:], strings.Join(words, "-"), pascal}
}

// Of generated credentials without a prefix, given to their names as programs, configurations
// and commands do it, at least 0.98 are masked, and of each rule and context 0.9.
func TestDetectsNamedCredentialsInEveryLanguage(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(11, 12)) //nolint:gosec // the same samples each time
	total, missed := map[string]int{}, map[string]int{}
	sum, lost := 0, 0
	contexts := namedContexts()
	for _, sample := range namedSamples() {
		if !slices.Contains(Rules(), sample.rule) {
			t.Errorf("there is no rule %s", sample.rule)
		}
		names := styles(sample.name)
		for _, context := range slices.Sorted(maps.Keys(contexts)) {
			for range 3 {
				value, drawn := fill(r, sample.format)
				text := fmt.Sprintf(contexts[context], names[0], names[1], names[2], names[3], names[4], value)
				text, _, _ = strings.Cut(text, "%!(EXTRA")
				masked, _ := Mask([]byte(text))
				for _, kind := range []string{sample.rule, "in " + context} {
					total[kind]++
					if shows(masked, drawn) {
						missed[kind]++
					}
				}
				sum++
				if shows(masked, drawn) {
					lost++
					if testing.Verbose() {
						t.Logf("%s, %s: missed in %q", sample.rule, context, text)
					}
				}
			}
		}
	}
	for kind, n := range missed {
		t.Logf("%s: %d of %d missed", kind, n, total[kind])
		if n*10 > total[kind] {
			t.Errorf("%s: %d of %d missed", kind, n, total[kind])
		}
	}
	t.Logf("%d samples, %.4f masked", sum, 1-float64(lost)/float64(sum))
	if lost*50 > sum {
		t.Errorf("%d of %d credentials are not masked", lost, sum)
	}
}
