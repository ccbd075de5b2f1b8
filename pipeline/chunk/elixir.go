package chunk

import "github.com/smacker/go-tree-sitter/elixir"

func elixirLanguage() language {
	style := hashStyle.with("@")
	style.heredoc = `"""`
	return parsed(grammar{name: "Elixir", query: "elixir", revision: 1, style: style, load: elixir.GetLanguage, keywords: map[string]string{
		"def": "function", "defp": "function", "defmacro": "macro", "defmacrop": "macro", "defguard": "macro",
		"defmodule": "module", "defprotocol": "interface", "defimpl": "scope.impl", "defdelegate": "function",
		"alias": "ref.import", "import": "ref.import", "use": "ref.import", "require": "ref.import",
		"defstruct": "", "moduledoc": "", "doc": "", "spec": "", "type": "", "typep": "", "opaque": "",
		"callback": "", "impl": "", "behaviour": "", "typedoc": "", "enforce_keys": "",
	}})
}
