package secret

// Version is the version of the rules and of how a span is masked. Vectors that a provider
// over a network makes of masked texts are kept under it.
const Version = "2"

// token is a rule for credentials that begin with a fixed prefix: so many bytes of a class
// follow, and no other byte of a word stands before or behind them.
type token struct {
	id, prefix string
	class      *class
	least      int // bytes behind the prefix
	most       int // 0 means no bound
}

// tokens are the prefixed formats that services publish.
var tokens = []token{
	{"1password-service-account", "ops_eyJ", base64, 200, 0},
	{"adafruit-key", "aio_", alnum, 28, 28},
	{"age-secret-key", "AGE-SECRET-KEY-1", upper, 58, 58},
	{"alibaba-access-key", "LTAI", alnum, 16, 24},
	{"anthropic-key", "sk-ant-api03-", dashed, 80, 120},
	{"anthropic-admin-key", "sk-ant-admin01-", dashed, 80, 120},
	{"anthropic-oauth-token", "sk-ant-oat01-", dashed, 60, 120},
	{"artifactory-key", "AKCp", alnum, 69, 69},
	{"artifactory-reference-token", "cmVmdGtuOj", alnum, 50, 60},
	{"atlassian-token", "ATATT3", dashedEqual, 150, 220},
	{"atlassian-connect-token", "ATCTT3", dashedEqual, 150, 220},
	{"aws-access-key-id", "AKIA", upper, 16, 16},
	{"aws-temporary-key-id", "ASIA", upper, 16, 16},
	{"aws-bearer-key-id", "ABIA", upper, 16, 16},
	{"aws-context-key-id", "ACCA", upper, 16, 16},
	{"aws-bedrock-key", "ABSK", base64, 109, 269},
	{"bitbucket-app-password", "ATBB", dashedEqual, 28, 40},
	{"buildkite-token", "bkua_", hex, 40, 40},
	{"cerebras-key", "csk-", alnum, 48, 48},
	{"clojars-token", "CLOJARS_", alnum, 60, 60},
	{"cloudflare-origin-ca-key", "v1.0-", hexDash, 160, 180},
	{"contentful-token", "CFPAT-", dashed, 43, 43},
	{"databricks-token", "dapi", hexDash, 32, 34},
	{"defined-networking-token", "dnkey-", dashed, 70, 90},
	{"digitalocean-token", "dop_v1_", hex, 64, 64},
	{"digitalocean-oauth-token", "doo_v1_", hex, 64, 64},
	{"digitalocean-refresh-token", "dor_v1_", hex, 64, 64},
	{"docker-token", "dckr_pat_", dashed, 27, 40},
	{"docker-organization-token", "dckr_oat_", dashed, 27, 40},
	{"doppler-personal-token", "dp.pt.", alnum, 40, 44},
	{"doppler-service-token", "dp.st.", dotted, 40, 80},
	{"doppler-cli-token", "dp.ct.", alnum, 40, 44},
	{"doppler-account-token", "dp.sa.", alnum, 40, 44},
	{"duffel-token", "duffel_live_", dashedEqual, 43, 43},
	{"duffel-test-token", "duffel_test_", dashedEqual, 43, 43},
	{"dynatrace-token", "dt0c01.", dotted, 89, 89},
	{"easypost-key", "EZAK", alnum, 54, 54},
	{"easypost-test-key", "EZTK", alnum, 54, 54},
	{"facebook-page-token", "EAAM", alnum, 100, 0},
	{"facebook-access-token", "EAAC", alnum, 100, 0},
	{"figma-token", "figd_", dashed, 40, 44},
	{"flutterwave-key", "FLWSECK-", dashed, 30, 48},
	{"flutterwave-test-key", "FLWSECK_TEST-", dashed, 12, 48},
	{"fly-token", "fm2_", base64, 100, 0},
	{"fly-legacy-token", "fm1_", base64, 100, 0},
	{"frameio-token", "fio-u-", dashedEqual, 64, 64},
	{"github-token", "ghp_", alnum, 36, 36},
	{"github-oauth-token", "gho_", alnum, 36, 36},
	{"github-app-token", "ghu_", alnum, 36, 36},
	{"github-server-token", "ghs_", alnum, 36, 36},
	{"github-refresh-token", "ghr_", alnum, 36, 76},
	{"github-fine-grained-token", "github_pat_", word, 82, 82},
	{"gitlab-token", "glpat-", dotted, 20, 60},
	{"gitlab-trigger-token", "glptt-", hex, 40, 40},
	{"gitlab-runner-registration-token", "GR1348941", dashed, 20, 20},
	{"gitlab-runner-token", "glrt-", dotted, 20, 60},
	{"gitlab-deploy-token", "gldt-", dashed, 20, 20},
	{"gitlab-job-token", "glcbt-", dashed, 22, 30},
	{"gitlab-feed-token", "glft-", dashed, 20, 20},
	{"gitlab-mail-token", "glimt-", dashed, 25, 25},
	{"gitlab-agent-token", "glagent-", dashed, 50, 50},
	{"gitlab-scim-token", "glsoat-", dashed, 20, 20},
	{"gitlab-oauth-secret", "gloas-", dashed, 64, 64},
	{"google-api-key", "AIza", dashed, 35, 35},
	{"google-client-secret", "GOCSPX-", dashed, 28, 28},
	{"google-oauth-token", "ya29.", dashed, 30, 0},
	{"google-refresh-token", "1//0", dashed, 40, 120},
	{"grafana-cloud-token", "glc_", base64, 32, 400},
	{"grafana-service-account-token", "glsa_", word, 41, 41},
	{"grafana-api-key", "eyJrIjoi", base64, 70, 400},
	{"groq-key", "gsk_", alnum, 52, 52},
	{"heroku-key", "HRKU-AA", dashed, 58, 58},
	{"huggingface-token", "hf_", alnum, 34, 37},
	{"huggingface-organization-token", "api_org_", alnum, 34, 34},
	{"infracost-key", "ico-", alnum, 32, 32},
	{"intra42-client-secret", "s-s4t2ud-", hex, 64, 64},
	{"langsmith-token", "lsv2_pt_", word, 40, 45},
	{"langsmith-service-key", "lsv2_sk_", word, 40, 45},
	{"linear-key", "lin_api_", alnum, 40, 40},
	{"linear-oauth-token", "lin_oauth_", alnum, 40, 64},
	{"mailgun-key", "key-", hex, 32, 32},
	{"mapbox-secret-token", "sk.eyJ", dotted, 60, 200},
	{"netlify-token", "nfp_", alnum, 36, 40},
	{"new-relic-user-key", "NRAK-", upper, 27, 27},
	{"new-relic-insert-key", "NRII-", dashed, 32, 32},
	{"new-relic-browser-key", "NRJS-", hex, 19, 19},
	{"notion-token", "ntn_", alnum, 43, 50},
	{"npm-token", "npm_", alnum, 36, 36},
	{"nuget-key", "oy2", lower, 43, 43},
	{"octopus-deploy-key", "API-", upper, 25, 30},
	{"openai-project-key", "sk-proj-", dashed, 40, 200},
	{"openai-service-key", "sk-svcacct-", dashed, 40, 200},
	{"openai-admin-key", "sk-admin-", dashed, 40, 200},
	{"openshift-token", "sha256~", dashed, 43, 43},
	{"perplexity-key", "pplx-", alnum, 48, 56},
	{"planetscale-token", "pscale_tkn_", dashedEqual, 32, 64},
	{"planetscale-password", "pscale_pw_", dashedEqual, 32, 64},
	{"planetscale-oauth-token", "pscale_oauth_", dashedEqual, 32, 64},
	{"posthog-personal-key", "phx_", alnum, 43, 50},
	{"postman-key", "PMAK-", hexDash, 59, 59},
	{"prefect-token", "pnu_", alnum, 36, 36},
	{"pulumi-token", "pul-", hex, 40, 40},
	{"pypi-token", "pypi-AgEIcHlwaS5vcmc", dashed, 50, 1000},
	{"readme-key", "rdme_", lower, 70, 70},
	{"replicate-token", "r8_", alnum, 37, 37},
	{"rubygems-key", "rubygems_", hex, 48, 48},
	{"sendgrid-key", "SG.", dotted, 66, 66},
	{"sendinblue-key", "xkeysib-", dashed, 70, 90},
	{"sentry-organization-token", "sntrys_", base64, 100, 400},
	{"sentry-user-token", "sntryu_", hex, 64, 64},
	{"settlemint-application-token", "sm_aat_", alnum, 16, 16},
	{"settlemint-personal-token", "sm_pat_", alnum, 16, 16},
	{"shippo-key", "shippo_live_", hex, 40, 40},
	{"shippo-test-key", "shippo_test_", hex, 40, 40},
	{"shopify-access-token", "shpat_", hexAny, 32, 32},
	{"shopify-custom-token", "shpca_", hexAny, 32, 32},
	{"shopify-private-token", "shppa_", hexAny, 32, 32},
	{"shopify-shared-secret", "shpss_", hexAny, 32, 32},
	{"slack-bot-token", "xoxb-", dashed, 20, 120},
	{"slack-user-token", "xoxp-", dashed, 20, 120},
	{"slack-config-token", "xoxe-", dashed, 20, 200},
	{"slack-config-access-token", "xoxe.xoxp-", dashed, 20, 200},
	{"slack-workspace-token", "xoxa-", dashed, 20, 120},
	{"slack-refresh-token", "xoxr-", dashed, 20, 120},
	{"slack-legacy-token", "xoxs-", dashed, 20, 120},
	{"slack-app-token", "xapp-1-", dashed, 40, 150},
	{"slack-webhook", "hooks.slack.com/services/T", base64, 30, 80},
	{"sourcegraph-token", "sgp_", word, 40, 60},
	{"square-token", "sq0atp-", dashed, 22, 22},
	{"square-secret", "sq0csp-", dashed, 43, 43},
	{"stripe-key", "sk_live_", alnum, 16, 120},
	{"stripe-test-key", "sk_test_", alnum, 16, 120},
	{"stripe-restricted-key", "rk_live_", alnum, 16, 120},
	{"stripe-restricted-test-key", "rk_test_", alnum, 16, 120},
	{"stripe-webhook-secret", "whsec_", base64, 32, 64},
	{"supabase-token", "sbp_", hex, 40, 40},
	{"supabase-secret-key", "sb_secret_", dashed, 31, 48},
	{"tailscale-key", "tskey-", dashed, 20, 100},
	{"teams-webhook", ".webhook.office.com/webhookb2/", path, 60, 300},
	{"typeform-token", "tfp_", dashedDot, 59, 59},
	{"vault-service-token", "hvs.", dashed, 24, 200},
	{"vault-batch-token", "hvb.", dashed, 100, 300},
	{"vercel-token", "vcp_", alnum, 24, 60},
	{"xai-key", "xai-", alnum, 80, 80},
	{"yandex-key", "AQVN", dashed, 35, 38},
	{"discord-webhook", "discord.com/api/webhooks/", path, 70, 120},
}

// assigned is a rule for values that a credential's name is given on the same line: the
// form of the value says less, the name the rest.
type assigned struct {
	id    string
	words []string // in lower case; any of them, in all its spellings
	class *class
	least int
	most  int
	// entropy is the least number of bits a byte, 0 for a form that needs none and for
	// generic-credential, where it follows from the alphabet of the value (see credible).
	entropy float64
}

// assignments are the formats without a prefix of their own, by the names of services.
func assignments() []assigned {
	return []assigned{
		{"aws-secret-access-key", []string{"aws_secret_access_key", "aws_secret_key", "secret_access_key"}, base64, 40, 40, 3.5},
		{"aws-session-token", []string{"aws_session_token", "session_token"}, base64, 100, 2000, 4},
		{"azure-storage-key", []string{"account_key", "azure_storage_key"}, base64, 88, 88, 4},
		{"azure-client-secret", []string{"azure_client_secret", "arm_client_secret"}, dotTilde, 34, 44, 3.5},
		{"airtable-key", []string{"airtable"}, dotted, 17, 82, 3.2},
		{"algolia-key", []string{"algolia"}, hex, 32, 32, 3},
		{"asana-secret", []string{"asana"}, lower, 32, 32, 3},
		{"cloudflare-token", []string{"cloudflare", "cf_api"}, dashed, 37, 45, 3.5},
		{"codecov-token", []string{"codecov_token"}, hexDash, 32, 36, 3},
		{"cohere-key", []string{"cohere_api_key", "co_api_key"}, alnum, 40, 40, 3.5},
		{"datadog-key", []string{"datadog", "dd_api_key", "dd_app_key"}, hex, 32, 40, 3},
		{"discord-token", []string{"discord"}, dotted, 58, 80, 3.8},
		{"dropbox-token", []string{"dropbox"}, dotted, 64, 160, 3.5},
		{"fastly-token", []string{"fastly"}, dashed, 32, 32, 3.5},
		{"heroku-api-key", []string{"heroku"}, hexDash, 36, 36, 3},
		{"hubspot-key", []string{"hubspot"}, hexDash, 36, 36, 3},
		{"launchdarkly-key", []string{"launchdarkly"}, dashed, 40, 40, 3},
		{"mailchimp-key", []string{"mailchimp"}, dashed, 36, 37, 3},
		{"mistral-key", []string{"mistral_api_key"}, alnum, 32, 32, 3.5},
		{"okta-token", []string{"okta"}, dashed, 42, 42, 3.5},
		{"pagerduty-key", []string{"pagerduty"}, dashed, 20, 32, 3},
		{"rollbar-token", []string{"rollbar"}, hex, 32, 32, 3},
		{"snyk-token", []string{"snyk_token", "snyk_api"}, hexDash, 36, 36, 3},
		{"sonar-token", []string{"sonar_token", "sonarqube", "sonar.login"}, word, 40, 44, 3},
		{"travis-token", []string{"travis_token", "travis_api"}, alnum, 22, 22, 3},
		{"twilio-key", []string{"twilio"}, hexUpper, 32, 34, 3},
		{"twitch-token", []string{"twitch"}, lower, 30, 30, 3},
		{"twitter-secret", []string{"twitter"}, alnum, 45, 50, 3.5},
		{"docker-auth", []string{`"auth":`, `"auth" :`}, base64, 16, 400, 3.3},
		{"npm-auth-token", []string{"_authtoken", "_auth=", "_auth ="}, base64, 24, 400, 3.3},
		{"authorization-header", []string{"authorization: bearer", "authorization: basic", "authorization: token", "authorization:bearer"}, base64, 20, 2000, 3.5},
		{"generic-credential", []string{
			"api_key", "secret", "token", "passwd", "password", "passphrase", "credential",
			"access_key", "auth_key", "private_key", "signing_key", "encryption_key",
		}, printable, 16, 200, 0},
	}
}

// class is a set of bytes.
type class [256]bool

func classOf(letters string) *class {
	c := &class{}
	for i := range len(letters) {
		c[letters[i]] = true
	}
	return c
}

const (
	digits      = "0123456789"
	smallLetter = "abcdefghijklmnopqrstuvwxyz"
	bigLetter   = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
)

var (
	alnum       = classOf(digits + smallLetter + bigLetter)
	word        = classOf(digits + smallLetter + bigLetter + "_")
	dashed      = classOf(digits + smallLetter + bigLetter + "_-")
	dashedDot   = dotted
	dashedEqual = classOf(digits + smallLetter + bigLetter + "_-=")
	dotted      = classOf(digits + smallLetter + bigLetter + "_-.")
	dotTilde    = classOf(digits + smallLetter + bigLetter + "_-.~")
	base64      = classOf(digits + smallLetter + bigLetter + "+/=_-")
	path        = classOf(digits + smallLetter + bigLetter + "_-@/")
	printable   = classOf(digits + smallLetter + bigLetter + "_-+/=.~!@#%^&*")
	upper       = classOf(digits + bigLetter)
	lower       = classOf(digits + smallLetter)
	hex         = classOf(digits + "abcdef")
	hexAny      = classOf(digits + "abcdefABCDEF")
	hexUpper    = classOf(digits + "abcdefSKAC")
	hexDash     = classOf(digits + "abcdef-")
)
