package scan

import (
	"bytes"
	"path"
	"strings"
)

// sniffBytes is how many first bytes decide whether a file is binary, as in git.
const sniffBytes = 8000

// isBinary reports whether the first bytes hold a NUL or begin with the mark of UTF-16 or
// UTF-32, which are not searched.
func isBinary(data []byte) bool {
	return bytes.HasPrefix(data, []byte{0xff, 0xfe}) || bytes.HasPrefix(data, []byte{0xfe, 0xff}) || bytes.IndexByte(data[:min(len(data), sniffBytes)], 0) >= 0
}

const (
	// minifiedLine is the length of a line that no person reads.
	minifiedLine = 64 << 10
	// minifiedSize and minifiedAverage are the size and the average line from which a file
	// of the web's languages counts as minified.
	minifiedSize    = 64 << 10
	minifiedAverage = 500
)

// isMinified reports whether a text was written by a machine for a machine: it has a line
// of more than 64 KiB, or is a .js, .mjs, .cjs, .css, .html, .htm, .svg, .json or .map of
// more than 64 KiB whose lines are longer than 500 bytes on average.
func isMinified(name string, data []byte) bool {
	if len(data) <= minifiedLine && len(data) <= minifiedSize {
		return false
	}
	lines := bytes.Count(data, []byte{'\n'}) + 1
	switch strings.ToLower(path.Ext(name)) {
	case ".js", ".mjs", ".cjs", ".css", ".html", ".htm", ".svg", ".json", ".map":
		if len(data)/lines > minifiedAverage {
			return true
		}
	}
	for rest := data; len(rest) > minifiedLine; {
		end := bytes.LastIndexByte(rest[:minifiedLine+1], '\n')
		if end < 0 {
			return true
		}
		rest = rest[end+1:]
	}
	return false
}

// IsSecret reports whether a file is left out because of its name, so that it is never
// even opened:
//
//   - .env and .env.*, but not .env.example, .sample, .template, .dist and .defaults;
//   - private keys and key stores: id_rsa, id_dsa, id_ecdsa, id_ed25519 (and _sk), *.pem,
//     *.key, *.p12, *.pfx, *.ppk, *.jks, *.keystore, *.kdbx, secring.asc;
//   - what clients keep credentials in: .netrc, _netrc, .npmrc, .pypirc, .pgpass, .my.cnf,
//     .git-credentials, .dockercfg, .htpasswd, credentials.json, client_secret*.json,
//     service-account*.json, secrets.yml, secrets.yaml, terraform.tfstate and its backups,
//     *.tfvars, and under their directories .aws/credentials, .docker/config.json,
//     .kube/config, .ssh/*, .gnupg/*.
//
// Names are compared without regard to case.
func IsSecret(name string) bool {
	lower := strings.ToLower(name)
	base := baseOf(lower)
	if base == ".env" || strings.HasPrefix(base, ".env.") {
		switch strings.TrimPrefix(base, ".env.") {
		case "example", "sample", "template", "dist", "defaults":
			return false
		}
		return true
	}
	switch base {
	case "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_ecdsa_sk", "id_ed25519_sk",
		".netrc", "_netrc", ".npmrc", ".pypirc", ".pgpass", ".my.cnf", ".git-credentials", ".dockercfg", ".htpasswd",
		"credentials.json", "secrets.yml", "secrets.yaml", "secring.asc", "terraform.tfstate", "terraform.tfstate.backup":
		return true
	}
	switch path.Ext(base) {
	case ".pem", ".key", ".p12", ".pfx", ".ppk", ".jks", ".keystore", ".kdbx", ".tfvars":
		return true
	case ".json":
		if strings.HasPrefix(base, "client_secret") || strings.HasPrefix(base, "service-account") {
			return true
		}
	}
	dir := baseOf(parentOf(lower))
	switch dir {
	case ".ssh", ".gnupg":
		return true
	case ".aws":
		return base == "credentials"
	case ".docker":
		return base == "config.json"
	case ".kube":
		return base == "config"
	}
	return false
}
