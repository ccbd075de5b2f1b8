// Package history owns recorded histories: the events of codebases with the contents they
// name, in one file that can be replayed anywhere, and the replay itself. A replay takes
// events in any order and any number of times, opens the snapshots they describe in another
// store, runs the real stages over them, and ends with the canonical digest.
//
// A history file is text, one JSON object a line: {"freshet_history":1} first, then
// {"content":HASH,"text":...} or {"content":HASH,"base64":...}, and {"event":{...}}. Lines
// may stand in any order after the first, so that histories can be written by hand.
package history
