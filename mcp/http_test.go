package mcpserver

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// site is a server over HTTP for the length of a test.
type site struct {
	t      *testing.T
	caller worldCaller
	server *Server
	url    string // without a path
	link   string // to the status page, once
	client *http.Client
}

func newSite(t *testing.T, o Options, h HTTPOptions) *site {
	t.Helper()
	s := &site{t: t, caller: indexed(t), client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
	s.server = newServer(t, s.caller, o)
	if h.Address == "" {
		h.Address = "127.0.0.1:0"
	}
	ctx, stop := context.WithCancel(t.Context())
	ready, served := make(chan string, 1), make(chan error, 1)
	go func() {
		served <- s.server.ServeHTTP(ctx, h, func(url, link string) {
			s.link = link
			ready <- url
		})
	}()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	select {
	case url := <-ready:
		s.url = strings.TrimSuffix(url, "/mcp")
	case err := <-served:
		served <- nil
		t.Fatal(err)
	}
	return s
}

const pingBody = `{"jsonrpc":"2.0","id":1,"method":"ping"}`

func searchBody(query string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_codebase","arguments":{"query":%q}}}`, query)
}

// post sends a message with further headers; a header Host is the host name.
func (s *site) post(ctx context.Context, body string, headers map[string]string) (int, string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/mcp", strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	return s.do(r, headers)
}

func (s *site) get(path string, headers map[string]string) (int, string) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.url+path, http.NoBody)
	if err != nil {
		s.t.Fatal(err)
	}
	status, body, err := s.do(r, headers)
	if err != nil {
		s.t.Fatal(err)
	}
	return status, body
}

func (s *site) do(r *http.Request, headers map[string]string) (int, string, error) {
	for name, value := range headers {
		r.Header.Set(name, value)
		if name == "Host" {
			r.Host = value
		}
	}
	response, err := s.client.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	return response.StatusCode, string(body), err
}

// TestForeigners sends what other people's web pages could have a browser send.
func TestForeigners(t *testing.T) {
	t.Parallel()
	s := newSite(t, Options{}, HTTPOptions{Names: []string{"code.example.org"}})
	cases := []struct {
		name    string
		headers map[string]string
		status  int
	}{
		{"a client", nil, 200},
		{"localhost", map[string]string{"Host": "localhost:7433"}, 200},
		{"loopback of the sixth version", map[string]string{"Host": "[::1]:7433"}, 200},
		{"a name of ours", map[string]string{"Host": "Code.example.org"}, 200},
		{"a rebound name", map[string]string{"Host": "evil.example"}, 403},
		{"a name like ours", map[string]string{"Host": "localhost.evil.example"}, 403},
		{"another address", map[string]string{"Host": "192.0.2.1"}, 403},
		{"our own page", map[string]string{"Host": "localhost", "Origin": "http://localhost"}, 200},
		{"another origin", map[string]string{"Origin": "https://evil.example"}, 403},
		{"another port of this machine", map[string]string{"Host": "localhost:7433", "Origin": "http://localhost:3000"}, 403},
		{"an origin that is hidden", map[string]string{"Origin": "null"}, 403},
		{"a browser that says so", map[string]string{"Sec-Fetch-Site": "cross-site"}, 403},
		{"a sister site", map[string]string{"Sec-Fetch-Site": "same-site"}, 403},
		{"a simple form", map[string]string{"Content-Type": "text/plain"}, 415},
		{"a packed body", map[string]string{"Content-Encoding": "gzip"}, 415},
		{"an unknown revision", map[string]string{"Mcp-Protocol-Version": "1999-01-01"}, 400},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			status, body, err := s.post(t.Context(), pingBody, test.headers)
			if err != nil || status != test.status {
				t.Errorf("status %d, %v, want %d: %.200s", status, err, test.status, body)
			}
			if test.status == http.StatusForbidden {
				for _, path := range []string{"/", "/metrics", "/healthz"} {
					if status, _ := s.get(path, test.headers); status != http.StatusForbidden {
						t.Errorf("GET %s: status %d, want 403", path, status)
					}
				}
			}
		})
	}
}

func TestToken(t *testing.T) {
	t.Parallel()
	s := newSite(t, Options{}, HTTPOptions{Token: "correct horse battery"})
	cases := []struct {
		name, header string
		status       int
	}{
		{"none", "", 401},
		{"wrong", "Bearer wrong", 401},
		{"a beginning", "Bearer correct horse", 401},
		{"another scheme", "Basic correct horse battery", 401},
		{"right", "Bearer correct horse battery", 200},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			headers := map[string]string{"Authorization": test.header}
			status, body, err := s.post(t.Context(), pingBody, headers)
			if err != nil || status != test.status {
				t.Errorf("status %d, %v, want %d", status, err, test.status)
			}
			if strings.Contains(body, "correct horse") {
				t.Error("the answer holds the token")
			}
			for _, path := range []string{"/", "/metrics"} {
				if status, _ := s.get(path, headers); status != test.status {
					t.Errorf("GET %s: status %d, want %d", path, status, test.status)
				}
			}
			if status, _ := s.get("/healthz", headers); status != http.StatusOK {
				t.Errorf("health: status %d", status)
			}
		})
	}
	if status, _, err := s.post(t.Context(), pingBody, map[string]string{"Authorization": ""}); err != nil || status != 401 {
		t.Errorf("status %d, %v", status, err)
	}
}

// TestWideAddress refuses to listen for other machines without a token.
func TestWideAddress(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:0", "example.org:80", "nonsense"} {
		server := newServer(t, newWorldCaller(), Options{})
		if err := server.ServeHTTP(t.Context(), HTTPOptions{Address: address}, nil); err == nil {
			t.Errorf("%s: served without a token", address)
		}
	}
}

func TestBodies(t *testing.T) {
	t.Parallel()
	s := newSite(t, Options{}, HTTPOptions{MaxBody: 1000})
	cases := []struct {
		name, body string
		status     int
	}{
		{"small", pingBody, 200},
		{"too large", `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"` + strings.Repeat("x", 1000) + `"}}`, 413},
		{"no JSON", "hello", 400},
		{"two values", pingBody + pingBody, 400},
		{"a batch", "[" + pingBody + "]", 400},
		{"a member twice", `{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}`, 400},
		{"deep", `{"jsonrpc":"2.0","id":1,"method":"ping","params":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`, 400},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			status, body, err := s.post(t.Context(), test.body, nil)
			if err != nil || status != test.status {
				t.Errorf("status %d, %v, want %d: %.200s", status, err, test.status, body)
			}
		})
	}
}

// TestSlowClients hold their connections without sending what they announced: the server
// ends every one of them, although many more might be open.
func TestSlowClients(t *testing.T) {
	t.Parallel()
	const token, each = "correct horse battery", 8
	s := newSite(t, Options{}, HTTPOptions{Token: token, Patience: 200 * time.Millisecond, Connections: 1000})
	host := "Host: " + strings.TrimPrefix(s.url, "http://") + "\r\n"
	authorization := "Authorization: Bearer " + token + "\r\n"
	for name, beginning := range map[string]string{
		"nothing": "",
		"headers": "POST /mcp HTTP/1.1\r\n" + host + "X-Slow: ",
		"body":    "POST /mcp HTTP/1.1\r\n" + host + authorization + "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
		"form":    "POST /login HTTP/1.1\r\n" + host + "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\n\r\nt",
	} {
		await(t, s.begin(each, beginning), each, name+" that do not come on")
	}
	if status, body, err := s.post(t.Context(), pingBody, map[string]string{"Authorization": "Bearer " + token}); err != nil || status != http.StatusOK {
		t.Errorf("an honest client after slow ones: status %d, %v: %s", status, err, body)
	}
}

// begin opens connections that send the beginning of a request, of several in turn, and
// nothing more. The channel tells each one that the server ends.
func (s *site) begin(n int, beginnings ...string) <-chan struct{} {
	s.t.Helper()
	ended := make(chan struct{}, n)
	var readers sync.WaitGroup
	s.t.Cleanup(readers.Wait) // after the connections are closed
	for i := range n {
		var dialer net.Dialer
		conn, err := dialer.DialContext(s.t.Context(), "tcp", strings.TrimPrefix(s.url, "http://"))
		if err != nil {
			s.t.Fatal(err)
		}
		s.t.Cleanup(func() { _ = conn.Close() })
		_, _ = io.WriteString(conn, beginnings[i%len(beginnings)]) // it may be ended already
		readers.Go(func() {
			_, _ = io.Copy(io.Discard, conn)
			ended <- struct{}{}
		})
	}
	return ended
}

// await waits until that many connections were ended.
func await(t *testing.T, ended <-chan struct{}, n int, what string) {
	t.Helper()
	guard := time.After(5 * time.Minute)
	for got := range n {
		select {
		case <-ended:
		case <-guard:
			t.Fatalf("%s: %d connections were ended, want %d", what, got, n)
		}
	}
}

// TestGone ends the work of a client that hangs up, whatever its revision of the protocol.
func TestGone(t *testing.T) {
	t.Parallel()
	s := newSite(t, Options{}, HTTPOptions{})
	for _, revision := range []string{"2025-06-18", "2026-07-28"} {
		body := searchBody("block")
		headers := map[string]string{"Mcp-Protocol-Version": revision}
		if revision == "2026-07-28" {
			body = strings.Replace(body, `"arguments"`, `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}},"arguments"`, 1)
			headers["Mcp-Method"], headers["Mcp-Name"] = "tools/call", "search_codebase"
		}
		ctx, hangUp := context.WithCancel(t.Context())
		answered := make(chan string, 1)
		go func() {
			_, answer, _ := s.post(ctx, body, headers)
			answered <- answer
		}()
		select {
		case <-s.caller.blocked:
		case answer := <-answered:
			t.Fatalf("%s: answered at once: %s", revision, answer)
		}
		hangUp()
		<-s.caller.ended
	}
}

func TestPages(t *testing.T) {
	t.Parallel()
	for _, token := range []string{"", "correct horse battery"} {
		s := newSite(t, Options{}, HTTPOptions{Token: token})
		headers := map[string]string{}
		if token != "" {
			headers["Authorization"] = "Bearer " + token
		}
		if _, body, err := s.post(t.Context(), searchBody("Retry"), headers); err != nil || !strings.Contains(body, "Retry") {
			t.Fatalf("%v, %s", err, body)
		}
		status, page := s.get("/", headers)
		if status != http.StatusOK || !strings.Contains(page, "freshet") {
			t.Errorf("status %d: %s", status, page)
		}
		for _, private := range []string{root, "web", "codebase"} {
			if shown := strings.Contains(page, private); shown != (token != "") {
				t.Errorf("with the token %q, the page shows %q: %v", token, private, shown)
			}
		}
		_, figures := s.get("/metrics", headers)
		for _, line := range []string{
			`freshet_calls_total{outcome="ok",tool="search_codebase"} 1`, `freshet_answers_total{freshness="current"} 1`,
			"freshet_calls_in_flight 0", `freshet_call_seconds_count{tool="search_codebase"} 1`,
		} {
			if !strings.Contains(figures, line+"\n") {
				t.Errorf("no %s among\n%s", line, figures)
			}
		}
		if bytes.Contains([]byte(figures), []byte(root)) {
			t.Error("the metrics hold a path")
		}
		if status, _ := s.get("/nothing", headers); status != http.StatusNotFound {
			t.Errorf("nothing: status %d", status)
		}
	}
}

// TestLogin opens the status page in a browser by the link, once, and by the token; nothing
// that needs neither shows anything of the codebases, and no login opens the protocol.
func TestLogin(t *testing.T) {
	t.Parallel()
	const token = "correct horse battery"
	s := newSite(t, Options{}, HTTPOptions{Token: token})
	s.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	visit := func(method, path, body, cookie string) *http.Response {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if method == http.MethodPost {
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		if cookie != "" {
			r.Header.Set("Cookie", cookie)
		}
		response, err := s.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = response.Body.Close() })
		return response
	}
	text := func(r *http.Response) string {
		t.Helper()
		data, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	link := strings.TrimPrefix(s.link, s.url)
	if r := visit(http.MethodHead, link, "", ""); r.StatusCode != http.StatusUnauthorized || len(r.Cookies()) > 0 {
		t.Errorf("a preview of the link: status %d, cookies %v", r.StatusCode, r.Cookies())
	}
	for name, way := range map[string]struct{ method, path, body string }{
		"the link":  {http.MethodGet, link, ""},
		"the token": {http.MethodPost, "/login", "token=" + strings.ReplaceAll(token, " ", "+")},
	} {
		r := visit(way.method, way.path, way.body, "")
		if r.StatusCode != http.StatusSeeOther || len(r.Cookies()) != 1 {
			t.Fatalf("%s: status %d, cookies %v", name, r.StatusCode, r.Cookies())
		}
		cookie := r.Cookies()[0]
		if !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode || strings.Contains(cookie.Value, token) {
			t.Errorf("%s sets the cookie %s", name, cookie)
		}
		held := cookie.Name + "=" + cookie.Value
		if page := visit(http.MethodGet, "/", "", held); page.StatusCode != http.StatusOK || !strings.Contains(text(page), root) {
			t.Errorf("%s: the page has status %d", name, page.StatusCode)
		}
		if r := visit(http.MethodPost, "/mcp", pingBody, held); r.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s opens the protocol: status %d", name, r.StatusCode)
		}
	}
	for name, r := range map[string]*http.Response{
		"the link again":           visit(http.MethodGet, link, "", ""),
		"a link that is made up":   visit(http.MethodGet, "/login?once=x", "", ""),
		"no link":                  visit(http.MethodGet, "/login", "", ""),
		"another token":            visit(http.MethodPost, "/login", "token=correct", ""),
		"no token":                 visit(http.MethodPost, "/login", "", ""),
		"a large form":             visit(http.MethodPost, "/login", "token="+strings.Repeat("x", 2*maxForm), ""),
		"a cookie that is made up": visit(http.MethodGet, "/", "", loginCookie+"=x"),
		"the page":                 visit(http.MethodGet, "/", "", ""),
		"the metrics":              visit(http.MethodGet, "/metrics", "", ""),
	} {
		page := text(r)
		if r.StatusCode != http.StatusUnauthorized || len(r.Cookies()) > 0 {
			t.Errorf("%s: status %d, cookies %v", name, r.StatusCode, r.Cookies())
		}
		for _, private := range []string{root, "web", token} {
			if strings.Contains(page, private) {
				t.Errorf("%s shows %q", name, private)
			}
		}
	}
}

// TestLoginsEnd: a link and a login last for a while, and the oldest login makes room.
func TestLoginsEnd(t *testing.T) {
	t.Parallel()
	now := time.Unix(1e9, 0)
	l := newLogins("correct horse battery", func() time.Time { return now })
	_, late, _ := strings.Cut(l.link(), "=")
	now = now.Add(linkLasts)
	if l.redeem(late) {
		t.Error("a link is good for ever")
	}
	enter := func() *http.Request {
		w := httptest.NewRecorder()
		l.begin(w)
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.AddCookie(w.Result().Cookies()[0]) //nolint:bodyclose // it has none
		return r
	}
	first := enter()
	if !l.known(first) {
		t.Fatal("a login is not known")
	}
	for range maxLogins {
		now = now.Add(time.Second)
		enter()
	}
	if l.known(first) || l.browsers.Len() > maxLogins {
		t.Errorf("%d logins are kept, the first: %v", l.browsers.Len(), l.known(first))
	}
	last := enter()
	now = now.Add(loginLasts)
	if l.known(last) {
		t.Error("a login lasts for ever")
	}
}

// TestSlowConnections opens a thousand connections that send nothing more, from the address
// of the honest client: its call is answered although no deadline ends them, and no more of
// them stay open than may, those that wait for the body of a request included.
func TestSlowConnections(t *testing.T) {
	t.Parallel()
	const opened, may = 1000, 32
	for _, token := range []string{"", "correct horse battery"} {
		s := newSite(t, Options{}, HTTPOptions{Token: token, Patience: time.Hour, Connections: may})
		host := "Host: " + strings.TrimPrefix(s.url, "http://") + "\r\n"
		body := host + "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
		authorized := "Authorization: Bearer " + token + "\r\n" + body
		ended := s.begin(opened, "", "POST /mcp HTTP/1.1\r\n"+host+"X-Slow: ",
			"POST /mcp HTTP/1.1\r\n"+body, "POST /mcp HTTP/1.1\r\n"+authorized)
		headers := map[string]string{"Authorization": "Bearer " + token}
		if status, body, err := s.post(t.Context(), searchBody("Retry"), headers); err != nil || status != http.StatusOK {
			t.Errorf("an honest call beside them: status %d, %v: %s", status, err, body)
		}
		await(t, ended, opened-may, "slow connections")
	}
}

// TestPlacesByPeer: a peer with many connections loses its own, not those of another.
func TestPlacesByPeer(t *testing.T) {
	t.Parallel()
	p := newLimitListener(nil, 4)
	var closed []string
	enter := func(peer, name string) *limitedConn {
		g := &limitedConn{Conn: closing{func() { closed = append(closed, name) }}, listener: p, peer: peer}
		p.track(g)
		return g
	}
	enter("modest", "m1")
	for _, name := range []string{"g1", "g2", "g3", "g4", "g5"} {
		enter("greedy", name)
	}
	served := enter("modest", "m2")
	p.untrack(served)
	enter("third", "t1")
	if got, want := strings.Join(closed, " "), "g1 g2 g3"; got != want {
		t.Errorf("closed %s, want %s", got, want)
	}
}

// closing is a connection that tells of its end.
type closing struct{ told func() }

func (closing) Read([]byte) (int, error)         { return 0, io.EOF }
func (closing) Write(data []byte) (int, error)   { return len(data), nil }
func (c closing) Close() error                   { c.told(); return nil }
func (closing) LocalAddr() net.Addr              { return nil }
func (closing) RemoteAddr() net.Addr             { return nil }
func (closing) SetDeadline(time.Time) error      { return nil }
func (closing) SetReadDeadline(time.Time) error  { return nil }
func (closing) SetWriteDeadline(time.Time) error { return nil }

// TestExactIDs: a request is answered under the id that it has, to the digit, over both
// transports, and what the server does not declare is not found.
func TestExactIDs(t *testing.T) {
	t.Parallel()
	s := newSite(t, Options{}, HTTPOptions{})
	for _, id := range []string{
		"1", "1.5", "-0", "1.0", "1e2", "9007199254740993", "-9007199254740993", "18446744073709551616", `"1.5"`, `"number-x:1"`,
	} {
		body := strings.Replace(pingBody, `"id":1`, `"id":`+id, 1)
		if status, answer, err := s.post(t.Context(), body, nil); err != nil || status != http.StatusOK || !strings.Contains(answer, `"id":`+id+`,`) {
			t.Errorf("over HTTP, the id %s is answered with status %d, %v: %s", id, status, err, answer)
		}
		var out safeBuffer
		server := newServer(t, failing{io.EOF}, Options{})
		_ = server.ServeStdio(t.Context(), strings.NewReader(body+"\n"), &out)
		if answer := string(out.bytes()); !strings.Contains(answer, `"id":`+id+`,`) {
			t.Errorf("on stdio, the id %s is answered with %s", id, answer)
		}
	}
	for _, method := range []string{"resources/list", "resources/read", "resources/templates/list", "resources/subscribe", "prompts/list", "prompts/get", "completion/complete", "logging/setLevel"} {
		body := strings.Replace(pingBody, `"ping"`, `"`+method+`","params":{}`, 1)
		if _, answer, err := s.post(t.Context(), body, nil); err != nil || !strings.Contains(answer, "-32601") {
			t.Errorf("%s is answered with %v, %s", method, err, answer)
		}
	}
}

// TestANewUserAgentGetsNoMoreCalls: calls under way are counted by address whatever the client
// calls itself; the next one waits for a place, and is answered then.
func TestANewUserAgentGetsNoMoreCalls(t *testing.T) {
	t.Parallel()
	s := newSite(t, Options{Calls: 2, AllCalls: 4}, HTTPOptions{})
	ctx, giveUp := context.WithCancel(t.Context())
	defer giveUp()
	for i := range 2 {
		agent := map[string]string{"User-Agent": strings.Repeat("x", i+1)}
		go func() { _, _, _ = s.post(ctx, searchBody("block"), agent) }()
		<-s.caller.blocked
	}
	third := make(chan string, 1)
	go func() {
		_, body, _ := s.post(t.Context(), searchBody("Retry"), map[string]string{"User-Agent": "third"})
		third <- body
	}()
	for { // until it waits
		s.server.limit.mu.Lock()
		waits := len(s.server.limit.waiting)
		s.server.limit.mu.Unlock()
		if waits == 1 {
			break
		}
		select {
		case body := <-third:
			t.Fatalf("a third call passed the bound: %s", body)
		default:
			runtime.Gosched()
		}
	}
	giveUp()
	if body := <-third; strings.Contains(body, "isError") || !strings.Contains(body, "Retry") {
		t.Errorf("the call that waited: %s", body)
	}
	for range 2 {
		<-s.caller.ended
	}
}
