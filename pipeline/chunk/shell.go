package chunk

import "github.com/smacker/go-tree-sitter/bash"

func shellLanguage() language {
	return keyworded("Shell", "shell", "1", hashStyle, map[string]string{
		"source": "ref.import", ".": "ref.import",
		"echo": "", "printf": "", "cd": "", "set": "", "true": "", "false": "", "shift": "", "[": "",
	}, bash.GetLanguage)
}
