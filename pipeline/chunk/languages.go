package chunk

// languages lists every language that is read by more than its lines.
func languages() []language {
	return []language{
		goLanguage(),
		pythonLanguage(),
	}
}
