package chunk

// languages lists every language that is read by more than its lines.
func languages() []language {
	return []language{
		cLanguage(),
		cppLanguage(),
		csharpLanguage(),
		cssLanguage(),
		dockerfileLanguage(),
		elixirLanguage(),
		goLanguage(),
		haskellLanguage(),
		htmlLanguage(),
		javaLanguage(),
		javascriptLanguage(),
		jsonLanguage(),
		kotlinLanguage(),
		lessLanguage(),
		luaLanguage(),
		markdownLanguage(),
		phpLanguage(),
		protocolBufferLanguage(),
		pythonLanguage(),
		rubyLanguage(),
		rustLanguage(),
		scalaLanguage(),
		scssLanguage(),
		shellLanguage(),
		sqlLanguage(),
		swiftLanguage(),
		tomlLanguage(),
		tsxLanguage(),
		typescriptLanguage(),
		yamlLanguage(),
		zigLanguage(),
	}
}
