package event

// PartAgain begins the parts of files.changed events that are made again for work that is
// left, after a log was lost.
const PartAgain uint32 = 1 << 29

// maxAgain is the most events of one second that are made again: 204,800 files.
const maxAgain = 1 << 10

// Again makes files.changed events for files that are left to do. Their parts are taken
// from the time in base, so that they are other events than those of an earlier second,
// which the log may remember. Files beyond what one second has parts for are left out: the
// next reconciliation finds them.
func Again(base Event, files []File) []Event {
	part := PartAgain + uint32(base.At.Unix()&(1<<18-1))*maxAgain
	runs := SplitFiles(files)
	events := make([]Event, 0, min(len(runs), maxAgain))
	for i, run := range runs[:min(len(runs), maxAgain)] {
		e := header(base, FilesChanged, part+uint32(i))
		e.Changed = &Changed{Files: run}
		events = append(events, e)
	}
	return events
}
