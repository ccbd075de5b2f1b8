package event

// interactiveParts is how many parts of one change, 200 files each, go the way of an edit.
const interactiveParts = 1

// Bulk reports whether the event belongs to the later part of a change so large that it
// must not make an edit of another codebase wait: its first files still go the short way.
// Files that take long go the long way, too.
// Events that follow one another through the stages share their part, and so the answer.
func (e Event) Bulk() bool {
	switch {
	case e.Type != FilesChanged && e.Type != FilesChunked && e.Type != FilesEmbedded:
		return false
	case e.Changed != nil && e.Changed.Slow:
		return true
	case e.Part >= PartAgain:
		return (e.Part-PartAgain)%maxAgain >= interactiveParts
	}
	return e.Part > interactiveParts
}
