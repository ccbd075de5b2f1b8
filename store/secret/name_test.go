package secret

import (
	"strings"
	"testing"
)

// Names lists names of secret files of every kind, for tests that walk the kinds.
func secretSamples() []string {
	return []string{
		".env", ".env.production", ".ENV", ".Env.Local", "prod.env", ".envrc", ".env.bak", ".env~", ".env.swp", "a.pem", "A.PEM", "tls.key", "auth.p8", "x.p12", "x.pfx",
		"x.jks", "x.kdbx", "id_rsa", "ID_RSA", "id_ed25519", "id_rsa.bak", ".id_rsa.swp", "kubeconfig", "dev.kubeconfig", "terraform.tfstate", "x.tfstate", "terraform.tfstate.backup",
		"terraform.tfstate.1690.backup", "prod.tfvars", "x.auto.tfvars", "service_account.json", "service-account-prod.json", "my-service-account.json", "client_secret_1.json",
		"x-firebase-adminsdk-1.json", ".bash_history", ".zsh_history", ".psql_history", ".vault-token", ".netrc", "_netrc", ".NETRC", ".npmrc", ".pypirc", ".pgpass", ".my.cnf",
		".git-credentials", ".dockercfg", ".htpasswd", "credentials.json", "secrets.yml", "secrets.YAML", "local.settings.json", ".s3cfg", ".boto", "host.keytab", "vpn.ovpn",
		".cargo/credentials.toml", ".cargo/credentials", ".docker/config.json", ".kube/config", ".KUBE/cache/x.json", ".ssh/config", ".ssh/deep/er/notes.txt", ".aws/credentials",
		".aws/sso/cache/1.json", ".gnupg/private-keys-v1.d/1.txt", ".azure/x/y.json", ".config/gcloud/a/b.db.txt", ".Config/GCloud/x", ".m2/settings.xml", ".composer/auth.json",
		".\u017f\u017fh/config", ".\u212aube/config", "#.env#", ".#.env",
	}
}

func TestNamedKnowsTheFilesOfSecretsAtAnyDepth(t *testing.T) {
	t.Parallel()
	for _, name := range secretSamples() {
		for _, dir := range []string{"", "a/", "a/b/.git/../c/", "/home/x/", "vendor/node_modules/x/"} {
			if !Named(dir + name) {
				t.Errorf("%q is not a secret", dir+name)
			}
		}
	}
}

func TestNamedLeavesTemplatesAndCodeReadable(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		".env.example", ".env.sample", ".env.template", ".env.dist", ".env.defaults", ".env.production.example", ".env.example.local", "example.env", "sample.env",
		".envrc.example", "terraform.tfvars.example", "example.tfvars", "kubeconfig.example", "go.env", "env.go", "environment.ts", "secrets.go", "secrets.py", "credentials.go",
		"key.go", "keys", "id_rsa.pub", "pem.c", "config.json", "kube/config", "ssh/config.go", "aws/credentials.go", ".config/nvim/init.lua", ".github/workflows/x.yml",
		"Makefile", ".gitignore", "keystore.go", "history.md", "tfstate.go", "x.key.go", "monkey", "token.go", ".sshx/a", "x.ssh/a", ".env/lib/python3/site.py", "", "/", "~", "a~",
	} {
		if Named(name) {
			t.Errorf("%q is a secret", name)
		}
	}
}

func TestNamedDirectory(t *testing.T) {
	t.Parallel()
	for dir, want := range map[string]bool{"/home/x/.ssh": true, "/home/x/.ssh/": true, "/home/x/.aws/sso": true, "/home/x/src": false, "/": false, "/home/x/.config": false} {
		if NamedDirectory(dir) != want {
			t.Errorf("%q: %v", dir, !want)
		}
	}
}

// Whatever is added in front of a path, a secret stays one, in any spelling of its case.
func FuzzNamed(f *testing.F) {
	f.Add("a/b", ".env")
	f.Add("\xff", "x.PEM~")
	f.Fuzz(func(t *testing.T, dir, name string) {
		if strings.Contains(name, "/") {
			return
		}
		if Named(name) && !Named(dir+"/"+name) {
			t.Fatalf("%q is a secret, %q is not", name, dir+"/"+name)
		}
		if ascii := strings.ToUpper(name); Named(name) && fold(ascii) == fold(name) && !Named(ascii) {
			t.Fatalf("%q is a secret, %q is not", name, ascii)
		}
	})
}

func BenchmarkNamed(b *testing.B) {
	for b.Loop() {
		Named("tools/testing/selftests/bpf/prog_tests/attach_probe.c")
	}
}
