package language

import "bytes"

// preferred settles the extensions that are common and almost always mean one language.
func preferred(ext string, head []byte) (string, bool) {
	switch ext {
	case ".ts":
		if bytes.HasPrefix(bytes.TrimSpace(head), []byte("<?xml")) {
			return "XML", true
		}
		return "TypeScript", true
	case ".tsx":
		if bytes.HasPrefix(bytes.TrimSpace(head), []byte("<?xml")) {
			return "XML", true
		}
		return "TSX", true
	case ".md":
		return "Markdown", true
	case ".rs":
		return "Rust", true
	case ".cs":
		return "C#", true
	case ".yml", ".yaml":
		return "YAML", true
	case ".json":
		return "JSON", true
	case ".html":
		return "HTML", true
	case ".php":
		return "PHP", true
	case ".sql":
		return "SQL", true
	case ".txt":
		return "Text", true
	case ".s":
		return "Assembly", true
	case ".h":
		return headerLanguage(head), true
	}
	return "", false
}

// headerLanguage tells the languages apart that share .h by words that only one has.
func headerLanguage(head []byte) string {
	for _, word := range []string{"@interface", "@protocol", "@class", "#import "} {
		if bytes.Contains(head, []byte(word)) {
			return "Objective-C"
		}
	}
	for _, word := range []string{"\nclass ", "\nnamespace ", "\ntemplate", "std::", "public:", "private:", " final {", "constexpr ", "using namespace"} {
		if bytes.Contains(head, []byte(word)) {
			return "C++"
		}
	}
	return "C"
}
