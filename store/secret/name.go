package secret

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Named reports whether a path, relative or absolute with slashes, is that of a secret, so
// that the file is never opened:
//
//   - anything at any depth below .ssh, .gnupg, .aws, .azure, .kube, .config/gcloud,
//     .config/gh, .docker/contexts, .password-store and the like (see secretDirs);
//   - .env, .env.*, .envrc and *.env, but no template of them (see isTemplate);
//   - private keys and key stores: id_rsa and its kin, *.pem, *.key, *.p8, *.p12, *.pfx,
//     *.ppk, *.jks, *.keystore, *.kdbx and others (see secretExtensions);
//   - what clients keep credentials, tokens, states and command histories in: .netrc,
//     .npmrc, .pgpass, .bash_history, kubeconfig, *.tfstate, service_account.json,
//     .cargo/credentials.toml and others (see secretNames and secretPaths).
//
// Copies that editors and people leave beside a file (.bak, .old, ~, .swp) count as the
// file. Names are compared without regard to case, as file systems may do.
func Named(path string) bool {
	path = fold(path)
	for at := 0; at < len(path); {
		end := strings.IndexByte(path[at:], '/')
		if end < 0 {
			break
		}
		// Nearly every directory is passed here: those that matter begin with a dot.
		if end > 1 && path[at] == '.' && isSecretDir(path[at:]) {
			return true
		}
		at += end + 1
	}
	base := path[strings.LastIndexByte(path, '/')+1:]
	if isSecretBase(path, base) {
		return true
	}
	original := withoutCopy(base)
	return original != base && original != "" && isSecretBase(path[:len(path)-len(base)]+original, original)
}

// NamedDirectory reports whether everything below a directory is a secret by name.
func NamedDirectory(path string) bool { return Named(strings.TrimSuffix(path, "/") + "/-") }

// secretDirs hold nothing but credentials, keys and what belongs to them.
func secretDirs() []string {
	return []string{
		".ssh/", ".gnupg/", ".aws/", ".azure/", ".kube/", ".config/gcloud/", ".config/gh/", ".config/op/",
		".config/rclone/", ".config/doctl/", ".config/hcloud/", ".config/sops/", ".docker/contexts/",
		".password-store/", ".oci/", ".aliyun/", ".bluemix/", ".terraform.d/", ".putty/", ".pki/", ".minikube/certs/",
		".local/share/keyrings/", ".vault.d/",
	}
}

var dirsOfSecrets = secretDirs()

func isSecretDir(rest string) bool {
	for _, dir := range dirsOfSecrets {
		if strings.HasPrefix(rest, dir) {
			return true
		}
	}
	return false
}

// secretNames are files that clients keep credentials in, wherever they lie.
var secretNames = setOf(
	"id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_ecdsa_sk", "id_ed25519_sk",
	"ssh_host_rsa_key", "ssh_host_dsa_key", "ssh_host_ecdsa_key", "ssh_host_ed25519_key",
	".env", ".envrc", ".flaskenv", ".dev.vars", ".secret", ".secrets", ".secrets.toml", ".secrets.yaml", ".secrets.yml",
	".netrc", "_netrc", ".authinfo", ".npmrc", ".pypirc", ".pgpass", "pgpass.conf", ".my.cnf", ".mylogin.cnf", ".databrickscfg",
	".git-credentials", ".dockercfg", ".dockerconfigjson", ".htpasswd", ".htdigest", ".s3cfg", ".boto", ".passwd-s3fs",
	".vault-token", ".vault_token", ".vault_pass", ".vault_pass.txt", ".vault-pass", ".vault_password", ".vault-password",
	"vault_pass.txt", ".terraformrc", "terraform.rc", ".rhosts", ".esmtprc", ".msmtprc", ".fetchmailrc", ".smbcredentials",
	".github_token", ".gitlab_token", ".npm_token", ".credentials", ".credentials.json",
	".bash_history", ".zsh_history", ".sh_history", ".ksh_history", ".histfile", "fish_history",
	".psql_history", ".mysql_history", ".sqlite_history", ".rediscli_history", ".mongo_history", ".dbshell",
	".python_history", ".node_repl_history", ".irb_history",
	"kubeconfig", "kubeconfig.yaml", "kubeconfig.yml", "kubeconfig.json",
	"credentials.json", "credentials.csv", "accesskeys.csv", "rootkey.csv", "application_default_credentials.json",
	"secrets.yml", "secrets.yaml", "secrets.json", "secrets.toml", "secring.asc", "secring.gpg", "master.key", "wallet.dat",
	"keystore.properties", "local.settings.json", "appsettings.secrets.json", "sftp-config.json", ".ftpconfig", "sitemanager.xml",
)

// secretPaths are files that are secret in their directory only.
func secretPaths() []string {
	return []string{
		"/.docker/config.json", "/.cargo/credentials", "/.cargo/credentials.toml", "/.gem/credentials", "/.bundle/config",
		"/.m2/settings.xml", "/.m2/settings-security.xml", "/.gradle/gradle.properties", "/.nuget/nuget.config", "/.config/hub",
		"/.config/configstore/firebase-tools.json", "/.config/netlify/config.json", "/.config/composer/auth.json", "/.composer/auth.json",
		"/.config/gist", "/.config/glab-cli/config.yml", "/.config/helm/registry/config.json", "/.config/containers/auth.json",
		"/.config/pip/pip.conf", "/.pip/pip.conf", "/.config/pypoetry/auth.toml", "/.config/cachix/cachix.dhall",
		"/.config/doppler/.doppler.yaml", "/.doppler/.doppler.yaml", "/.config/stripe/config.toml", "/.config/heroku/credentials",
		"/.config/wrangler/config/default.toml", "/.wrangler/config/default.toml", "/.config/ngrok/ngrok.yml", "/.ngrok2/ngrok.yml",
		"/.config/snowflake/config.toml", "/.snowsql/config", "/.databrickscfg", "/.dbt/profiles.yml", "/.kaggle/kaggle.json",
		"/.huggingface/token", "/.cache/huggingface/token", "/.config/jupyter/jupyter_notebook_config.json", "/.weechat/sec.conf",
		"/.purple/accounts.xml", "/.irssi/config", "/.subversion/auth", "/.config/lftp/bookmarks", "/.lftp/bookmarks",
		"/.step/secrets", "/.fly/config.yml", "/.linode-cli", "/.config/linode-cli", "/.cloudflared/cert.pem", "/.claude/.credentials.json", "/.codex/auth.json",
		"/etc/shadow", "/etc/gshadow", "/etc/sudoers",
	}
}

var pathsOfSecrets = byBase(secretPaths())

func byBase(paths []string) map[string][]string {
	m := map[string][]string{}
	for _, p := range paths {
		base := p[strings.LastIndexByte(p, '/')+1:]
		m[base] = append(m[base], p)
	}
	return m
}

// secretExtensions are those of keys, key stores, states and variables.
var secretExtensions = setOf(
	".pem", ".key", ".p8", ".p12", ".pfx", ".ppk", ".jks", ".jceks", ".bks", ".keystore", ".kdbx", ".kdb", ".pkcs12", ".pkcs8",
	".tfvars", ".tfstate", ".env", ".ovpn", ".agekey", ".keytab", ".snk", ".psafe3", ".keychain", ".keychain-db", ".kubeconfig",
	".publishsettings",
)

func isSecretBase(path, base string) bool {
	if isTemplate(base) {
		return false
	}
	if strings.HasPrefix(base, ".env.") || strings.HasPrefix(base, ".envrc.") || secretNames[base] {
		return true
	}
	switch dot := strings.LastIndexByte(base, '.'); {
	case dot < 0:
	case secretExtensions[base[dot:]]:
		return true
	case strings.Contains(base, ".tfstate."), strings.Contains(base, ".tfvars."):
		return true
	case base[dot:] == ".json" && isKeyFile(base[:dot]):
		return true
	}
	for _, p := range pathsOfSecrets[base] {
		if strings.HasSuffix(path, p) || path == p[1:] {
			return true
		}
	}
	return false
}

// isKeyFile reports the name, without .json, of a key file of a service account or client.
func isKeyFile(stem string) bool {
	stem = strings.ReplaceAll(stem, "_", "-")
	switch stem {
	case "gcp-key", "gcp-credentials", "gcloud-service-key", "google-credentials", "google-key", "serviceaccountkey", "sa-key", "gcs-key", "azureauth", "azure-credentials":
		return true
	}
	return strings.HasPrefix(stem, "client-secret") || strings.HasPrefix(stem, "service-account") || strings.HasPrefix(stem, "serviceaccount") ||
		strings.HasSuffix(stem, "-service-account") || strings.HasSuffix(stem, "-serviceaccount") || strings.Contains(stem, "firebase-adminsdk")
}

// isTemplate reports a file that shows which variables there are, and not their values.
func isTemplate(base string) bool {
	if base == "go.env" { // the defaults of a Go installation
		return true
	}
	variables := strings.HasSuffix(base, ".env") || strings.HasSuffix(base, ".tfvars") || strings.HasPrefix(base, ".env.")
	for _, word := range [...]string{"example", "sample", "template", "tmpl", "tpl", "dist", "defaults", "schema"} {
		switch {
		case strings.HasSuffix(base, "."+word),
			variables && strings.HasPrefix(base, word+"."),
			variables && strings.Contains(base, "."+word+"."):
			return true
		}
	}
	return false
}

// withoutCopy takes off what an editor or a person adds to the name of a copy.
func withoutCopy(base string) string {
	if strings.HasPrefix(base, ".#") || (strings.HasPrefix(base, "#") && strings.HasSuffix(base, "#")) {
		base = strings.Trim(strings.TrimPrefix(base, ".#"), "#")
	}
	for {
		rest := strings.TrimSuffix(base, "~")
		for _, ending := range [...]string{".bak", ".backup", ".old", ".orig", ".save", ".copy", ".tmp", ".1", ".2"} {
			rest = strings.TrimSuffix(rest, ending)
		}
		if swap, ok := strings.CutSuffix(rest, ".swp"); ok {
			// The swap file of name is .name.swp; that of .name is .name.swp as well.
			if rest = swap; !isSecretBase(rest, rest) {
				rest = strings.TrimPrefix(rest, ".")
			}
		}
		if rest == base {
			return base
		}
		base = rest
	}
}

// fold makes names that differ only in case equal, those with letters outside ASCII that
// fold into ASCII ones included.
func fold(s string) string {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return strings.Map(foldRune, s)
		}
	}
	return strings.ToLower(s)
}

// foldRune returns the smallest lower-case letter of the orbit of a rune.
func foldRune(r rune) rune {
	folded := unicode.ToLower(r)
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		if lower := unicode.ToLower(next); lower < folded {
			folded = lower
		}
	}
	return folded
}

func setOf(names ...string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}
