package chunk

// languages lists every language that is read by more than its lines.
func languages() []language {
	return []language{
		cLanguage(),
		cppLanguage(),
		csharpLanguage(),
		elixirLanguage(),
		goLanguage(),
		haskellLanguage(),
		javaLanguage(),
		javascriptLanguage(),
		kotlinLanguage(),
		luaLanguage(),
		phpLanguage(),
		pythonLanguage(),
		rubyLanguage(),
		rustLanguage(),
		scalaLanguage(),
		shellLanguage(),
		swiftLanguage(),
		tsxLanguage(),
		typescriptLanguage(),
		zigLanguage(),
	}
}
