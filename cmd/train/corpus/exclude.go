package corpus

import (
	"path"
	"regexp"
	"strings"
)

// excluded are the projects of the evaluation benchmark, both halves.
const excluded = `aiohttp flask starlette axios redux gin chi commons-lang jackson-databind monolog laravel
	rack rails messagepack-csharp messagepack click nlohmann-json nlohmann phoenix axum vitest dapper exposed circe
	vapor fmtlib fmt curl redis nvm bash-it pandoc mini.nvim zig-clap bats-core bats libuv abseil-cpp abseil absl
	newtonsoft-json newtonsoft.json ecto plug cobra aeson xmonad gson express kotlinx-coroutines ktor lazy.nvim
	telescope.nvim guzzle fastapi httpx model2vec pydantic requests sinatra serde tokio cats http4s alamofire
	snapkit trpc zod zig zls illuminate activesupport activerecord actionpack railties`

// Exclusion recognises the benchmark's projects by name.
type Exclusion struct {
	names map[string]bool
	cut   *regexp.Regexp
}

// NewExclusion returns the exclusion of the benchmark's projects.
func NewExclusion() *Exclusion {
	e := &Exclusion{names: map[string]bool{}, cut: regexp.MustCompile(`^(?:lib|ruby|python3?|node|php|rust|haskell|golang-github|elixir|lua)[-/]` +
		`|[-.](?:java|js|rb|cpp|clojure|python|hs|[0-9.]+)$|[0-9.]+$`)}
	for _, name := range strings.Fields(excluded) {
		e.names[name] = true
	}
	return e
}

// Package reports whether a package of this name is one of the projects, is packaged from
// one, or is a part of one (tokio-util, serde_json).
func (e *Exclusion) Package(name string) bool {
	name = strings.ToLower(strings.TrimPrefix(name, "@"))
	for range 4 { // ruby-rack-3.1, libcommons-lang3-java
		if e.names[name] || e.names[path.Base(name)] || e.names[strings.TrimPrefix(name, "lib")] {
			return true
		}
		name = e.cut.ReplaceAllString(name, "")
	}
	for _, element := range strings.Split(name, "/") {
		first, _, _ := strings.Cut(strings.ReplaceAll(element, "_", "-"), "-")
		if e.names[element] || e.names[first] && !ordinary(first) {
			return true
		}
	}
	return false
}

// ordinary are names of projects that begin the names of things that have nothing to do
// with them.
func ordinary(name string) bool {
	switch name {
	case "fmt", "chi", "click", "plug", "requests", "express", "rack", "cats", "phoenix", "gin", "redis", "curl", "exposed":
		return true
	}
	return false
}

// File reports whether a file lies in a folder that bears the name of a project: a copy
// that a package carries along.
func (e *Exclusion) File(name string) bool {
	for _, folder := range strings.Split(path.Dir(strings.ToLower(name)), "/") {
		if e.names[folder] && folder != "fmt" {
			return true
		}
	}
	return false
}
