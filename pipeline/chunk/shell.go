package chunk

import "github.com/smacker/go-tree-sitter/bash"

func shellLanguage() language {
	return parsed(grammar{name: "Shell", query: "shell", revision: 1, style: hashStyle, load: bash.GetLanguage, keywords: map[string]string{
		"source": "ref.import", ".": "ref.import",
		"echo": "", "printf": "", "cd": "", "set": "", "true": "", "false": "", "shift": "", "[": "",
	}})
}
