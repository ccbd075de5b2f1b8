package mcpserver

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"html/template"
	"net/http"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// The lifetimes of a one-time link to the status page, and of a login.
const (
	linkLasts  = 10 * time.Minute
	loginLasts = 12 * time.Hour
)

// maxLogins bounds the logins; the oldest is evicted.
const maxLogins = 32

// loginCookie is the name of the login cookie. Browsers send it to every port of the host, so
// it grants access to the pages for people only, never to the protocol.
const loginCookie = "freshet"

// logins keeps the logins of browsers, by the token or a one-time link. It stores only the
// SHA-256 of cookies and links.
type logins struct {
	token string
	now   func() time.Time

	mu       sync.Mutex // guards what follows
	links    map[[sha256.Size]byte]time.Time
	browsers *simplelru.LRU[[sha256.Size]byte, time.Time]
}

func newLogins(token string, now func() time.Time) *logins {
	browsers, _ := simplelru.NewLRU[[sha256.Size]byte, time.Time](maxLogins, nil) // fails for a size below 1 only
	return &logins{token: token, now: now, links: map[[sha256.Size]byte]time.Time{}, browsers: browsers}
}

// link returns the query of a new one-time link.
func (l *logins) link() string {
	secret := randomText()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.links[sha256.Sum256([]byte(secret))] = l.now().Add(linkLasts)
	return "once=" + secret
}

// redeem invalidates a one-time link, and reports whether it was valid.
func (l *logins) redeem(secret string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	sum := sha256.Sum256([]byte(secret))
	until, ok := l.links[sum]
	delete(l.links, sum)
	return ok && l.now().Before(until)
}

// begin logs a browser in.
func (l *logins) begin(w http.ResponseWriter) {
	secret := randomText()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.browsers.Add(sha256.Sum256([]byte(secret)), l.now().Add(loginLasts))
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // Secure would keep it from plain HTTP, which loopback is served by
		Name: loginCookie, Value: secret, Path: "/", MaxAge: int(loginLasts / time.Second),
		HttpOnly: true, SameSite: http.SameSiteStrictMode,
	})
}

// known reports whether a request has the token or a valid login cookie.
func (l *logins) known(r *http.Request) bool {
	if l.token == "" || presents(r, l.token) {
		return true
	}
	cookie, err := r.Cookie(loginCookie)
	if err != nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	until, ok := l.browsers.Peek(sha256.Sum256([]byte(cookie.Value)))
	return ok && l.now().Before(until)
}

// only is middleware that serves a page to authenticated requests, and the login form to
// others.
func (l *logins) only(next http.HandlerFunc, refused func()) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if l.known(r) {
			next(w, r)
			return
		}
		refused()
		l.ask(w, "")
	}
}

// enter handles a one-time link.
func (l *logins) enter(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet || !l.redeem(r.URL.Query().Get("once")) {
		l.ask(w, "The link was used before, or is too old.")
		return
	}
	l.begin(w)
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// maxForm bounds the login form in bytes.
const maxForm = 4 << 10

// login handles the login form.
func (l *logins) login(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if l.token == "" || r.ParseForm() != nil || !sameSecret(r.PostForm.Get("token"), l.token) {
		l.ask(w, "This is not the token.")
		return
	}
	l.begin(w)
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// loginText is the template of the login page.
const loginText = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>freshet</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 40em; padding: 0 1em; color: #222; background: #fff }
@media (prefers-color-scheme: dark) { body { color: #ddd; background: #181818 } }
</style>
</head>
<body>
<h1>freshet</h1>
{{with .}}<p><strong>{{.}}</strong></p>{{end}}
<p>The token is needed. <code>freshet up</code> prints the file that holds it, and a link that needs none.</p>
<form method="post" action="/login"><input type="password" name="token" aria-label="token" autocomplete="off" required> <button>Log in</button></form>
</body>
</html>
`

func (l *logins) ask(w http.ResponseWriter, problem string) {
	pageHeaders(w)
	w.Header().Set("WWW-Authenticate", `Bearer realm="freshet"`)
	w.WriteHeader(http.StatusUnauthorized)
	_ = template.Must(template.New("login").Parse(loginText)).Execute(w, problem) // a browser that is gone does not matter
}

// pageHeaders sets the headers of a page for people: a content security policy that allows no
// resources and scripts, and forms to this server only.
func pageHeaders(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	w.Header().Set("Referrer-Policy", "no-referrer")
}

func randomText() string {
	random := make([]byte, 32)
	_, _ = rand.Read(random) // never fails
	return base64.RawURLEncoding.EncodeToString(random)
}

// presents reports whether a request has the bearer token.
func presents(r *http.Request, token string) bool {
	return sameSecret(r.Header.Get("Authorization"), "Bearer "+token)
}

// sameSecret compares in constant time.
func sameSecret(got, want string) bool {
	a, b := sha256.Sum256([]byte(got)), sha256.Sum256([]byte(want))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}
