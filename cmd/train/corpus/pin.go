package corpus

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
)

// Pin fetches a package and returns it with its licence and digest, as it would stand in
// the manifest. A version of "" is the newest that can be had. It refuses the projects of
// the evaluation and what is not under a permissive licence.
func (c *Cache) Pin(ctx context.Context, s Source) (Source, error) {
	if NewExclusion().Package(s.Name) {
		return s, fmt.Errorf("pin %s: a project of the evaluation", s)
	}
	pinned, err := c.pin(ctx, s)
	if err != nil {
		return s, fmt.Errorf("pin %s: %w", s, err)
	}
	return pinned, nil
}

func (c *Cache) pin(ctx context.Context, s Source) (Source, error) {
	var err error
	if s.Version == "" {
		if s.Version, err = newest(ctx, s); err != nil {
			return s, err
		}
	}
	if _, err := c.archives(s); err != nil {
		if err := c.download(ctx, s); err != nil {
			return s, err
		}
	}
	if s.Licence == "" {
		if s.Licence, err = c.licence(ctx, s); err != nil {
			return s, err
		}
	}
	if !Permissive(s.Licence) {
		return s, fmt.Errorf("licence %q is not permissive", s.Licence)
	}
	s.Digest, err = c.Digest(ctx, s)
	return s, err
}

// newest asks the client of a source's ecosystem for the newest version.
func newest(ctx context.Context, s Source) (string, error) {
	var out []byte
	var err error
	switch s.Kind {
	case NPM:
		out, err = output(ctx, ".", "npm", "view", "--silent", s.Name, "version")
	case Module:
		out, err = output(ctx, os.TempDir(), "go", "list", "-m", "-f", "{{.Version}}", s.Name+"@latest")
	default:
		return "", fmt.Errorf("a source of kind %s needs a version", s.Kind)
	}
	return strings.TrimSpace(string(out)), err
}

// licence reads what the package says of its licence.
func (c *Cache) licence(ctx context.Context, s Source) (string, error) {
	switch s.Kind {
	case Go:
		return "BSD-3-Clause", nil
	case NPM:
		var about struct{ License any }
		text, err := c.one(ctx, s, func(name string) bool { return name == "package.json" })
		if err != nil {
			return "", err
		}
		if err := json.Unmarshal(text, &about); err != nil {
			return "", err
		}
		licence, _ := about.License.(string)
		return licence, nil
	}
	return c.statedLicence(ctx, s)
}

// statedLicence names the licences of the texts that stand on top of a source, joined by
// "and".
func (c *Cache) statedLicence(ctx context.Context, s Source) (string, error) {
	var names []string
	err := c.Walk(ctx, s, Visit{
		Wants: func(name string, size int64) bool {
			return size < 1<<16 && (!strings.Contains(name, "/") && licenceFile(name) || name == "debian/copyright")
		},
		File: func(_ string, data []byte) error {
			if name := recogniseLicence(string(data)); !slices.Contains(names, name) {
				names = append(names, name)
			}
			return nil
		},
	})
	slices.Sort(names)
	return strings.Join(names, " and "), err
}

func licenceFile(name string) bool {
	name = strings.ToLower(name)
	return strings.HasPrefix(name, "license") || strings.HasPrefix(name, "licence") || strings.HasPrefix(name, "copying") ||
		name == "unlicense" || name == "mit-license"
}

// one returns the first file of a source that is wanted.
func (c *Cache) one(ctx context.Context, s Source, wanted func(string) bool) (text []byte, err error) {
	err = c.Walk(ctx, s, Visit{
		Wants: func(name string, _ int64) bool { return text == nil && wanted(name) },
		File:  func(_ string, data []byte) error { text = data; return nil },
	})
	return text, err
}

// recogniseLicence names the licence of a text.
func recogniseLicence(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	for _, known := range []struct{ words, name string }{
		{"GENERAL PUBLIC LICENSE", "GPL"}, {"GNU General Public", "GPL"}, {"GNU Lesser", "LGPL"}, {"Eclipse Public", "EPL"},
		{"COMMON DEVELOPMENT AND DISTRIBUTION", "CDDL"}, {"CeCILL", "CeCILL"}, {"European Union Public", "EUPL"}, {"Mozilla Public License", "MPL-2.0"},
		{"Apache License", "Apache-2.0"}, {"Permission is hereby granted, free of charge", "MIT"},
		{"Neither the name", "BSD-3-Clause"}, {"Redistribution and use in source", "BSD-2-Clause"},
		{"Permission to use, copy, modify, and/or distribute", "ISC"}, {"Permission to use, copy, modify, and distribute", "ISC"},
		{"Boost Software License", "BSL-1.0"}, {"PYTHON SOFTWARE FOUNDATION", "PSF-2.0"}, {"unencumbered software", "Unlicense"},
		{"This software is provided 'as-is'", "Zlib"}, {"CC0", "CC0-1.0"}, {"The PHP License", "PHP-3.01"}, {"The Artistic License", "Artistic"},
	} {
		if strings.Contains(text, known.words) {
			return known.name
		}
	}
	return "unknown"
}

// Permissive reports whether every part of a licence joined by "and", and one of each
// joined by "or", lets its holder do as they like but for notices.
func Permissive(licence string) bool {
	part := regexp.MustCompile(`(?i)^(mit([-/ ].*)?|expat.*|x11.*|bsd.*|[023]-?clause-bsd|apache.*|asl.*|isc.*|zlib.*|boost.*|bsl.*|bsl-1\.0|ncsa|unlicen[sc]e|` +
		`cc0.*|0bsd|psf.*|python.*|wtfpl.*|postgresql|openssl|curl|ruby|public-domain|php.*|unicode.*|hpnd|libpng|bsd-like|twisted|jinja2|zpl.*|vim|lua|ftl|tcl|artistic.*)$`)
	licence = strings.NewReplacer("(", " ", ")", " ", ",", " and ").Replace(licence)
	for _, both := range regexp.MustCompile(`(?i)\band\b|&`).Split(licence, -1) {
		ok, said := false, false
		for _, either := range regexp.MustCompile(`(?i)\bor\b|\||/`).Split(both, -1) {
			if either = strings.TrimSpace(either); either != "" {
				said = true
				ok = ok || part.MatchString(either)
			}
		}
		if said && !ok {
			return false
		}
	}
	return strings.TrimSpace(licence) != ""
}
