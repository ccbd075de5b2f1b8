package storetest

import (
	"slices"
	"testing"
	"time"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// Open makes an empty store for a test and closes it when the test ends. The store must
// take the time from now.
type Open func(t *testing.T, now func() time.Time) store.Store

// Features are what a backend can do beyond the interface; a nil field skips its tests.
type Features struct {
	// Reopen closes a store and opens it again over the same data.
	Reopen func(t *testing.T, s store.Store, now func() time.Time) store.Store
	// Damage changes bits of one row, behind the back of the store: the content with a hash,
	// the syntaxes of that content, or the vectors of the text with it.
	Damage func(t *testing.T, s store.Store, row Row, h merkle.Hash)
}

// RowCounter is implemented by stores that count the rows they write, so that the cost of
// an edit can be tested by counting.
type RowCounter interface {
	// RowsWritten counts rows inserted, changed and deleted since the store was opened.
	RowsWritten() int64
}

// Run runs the suite.
func Run(t *testing.T, open Open, f Features) {
	for _, c := range slices.Concat(openings(), manifests(), seals(), collections(), promises()) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.test(t, newEnv(t, open))
		})
	}
	t.Run("Reopen", func(t *testing.T) {
		if f.Reopen == nil {
			t.Skip("the store does not outlive its process")
		}
		t.Parallel()
		testReopen(t, newEnv(t, open), f)
	})
	t.Run("DamagedRows", func(t *testing.T) {
		if f.Damage == nil {
			t.Skip("rows of the store cannot be damaged")
		}
		t.Parallel()
		testDamagedRows(t, newEnv(t, open), f.Damage)
	})
	t.Run("Model", func(t *testing.T) {
		t.Parallel()
		testModel(t, open)
	})
}

// check is one test of the suite.
type check struct {
	name string
	test func(t *testing.T, e *env)
}

// openings are the tests of the methods that open, register and fill a store.
func openings() []check {
	return []check{
		{"Codebases", testCodebases},
		{"RegisterTwice", testRegisterTwice},
		{"RegisterPlaces", testRegisterPlaces},
		{"Clear", testClear},
		{"ClearKeepsEvents", testClearKeepsEvents},
		{"UnknownCodebase", testUnknownCodebase},
		{"UnknownSnapshot", testUnknownSnapshot},
		{"Contents", testContents},
		{"ContentsOfEverySize", testContentsOfEverySize},
		{"ContentWithAnotherHash", testContentWithAnotherHash},
		{"Syntax", testSyntax},
		{"Vectors", testVectors},
		{"EmbeddedNeedsEveryVector", testEmbeddedNeedsEveryVector},
		{"Open", testOpen},
		{"OpenRefuses", testOpenRefuses},
		{"OpenTwice", testOpenTwice},
		{"OpenNeedsContents", testOpenNeedsContents},
		{"OpenIsAtomic", testOpenIsAtomic},
		{"Abandon", testAbandon},
		{"Base", testBase},
	}
}

// manifests are the tests of the methods that read what was opened and what is left to do.
func manifests() []check {
	return []check{
		{"ManifestIntervals", testManifestIntervals},
		{"ManifestOddPaths", testManifestOddPaths},
		{"ManifestStopsEarly", testManifestStopsEarly},
		{"Delta", testDelta},
		{"DeltaAfterAbandoned", testDeltaAfterAbandoned},
		{"Stats", testStats},
		{"Pending", testPending},
		{"PendingOfRebuild", testPendingOfRebuild},
		{"PendingParked", testPendingParked},
		{"Failures", testFailures},
		{"NewContentResetsTries", testNewContentResetsTries},
		{"ForgetFailures", testForgetFailures},
		{"OpenRetries", testOpenRetries},
		{"ParkedWithItsEvent", testParkedWithItsEvent},
	}
}

// seals are the tests of the methods that serve snapshots and keep the log.
func seals() []check {
	return []check{
		{"SealTextThenFull", testSealTextThenFull},
		{"SealRefuses", testSealRefuses},
		{"SealIsAtomic", testSealIsAtomic},
		{"SealIsConfirmed", testSealIsConfirmed},
		{"SealUnderItsRecipe", testSealUnderItsRecipe},
		{"DeadFilesByAge", testDeadFilesByAge},
		{"ReplaceSegments", testReplaceSegments},
		{"Segments", testSegments},
		{"Forget", testForget},
		{"ForgetSharedVectors", testForgetSharedVectors},
		{"ForgetKeepsPaidVectors", testForgetKeepsPaidVectors},
		{"SetCurrent", testSetCurrent},
		{"OutboxOrder", testOutboxOrder},
		{"LogPosition", testLogPosition},
		{"Sessions", testSessions},
		{"Leases", testLeases},
		{"FencedWrites", testFencedWrites},
	}
}

// collections are the tests of the methods that forget.
func collections() []check {
	return []check{
		{"CollectRetention", testCollectRetention},
		{"CollectThinned", testCollectThinned},
		{"CollectReachability", testCollectReachability},
		{"CollectGrace", testCollectGrace},
		{"CollectSharedContents", testCollectSharedContents},
		{"CollectCleared", testCollectCleared},
		{"CollectVectors", testCollectVectors},
		{"CollectKeepsDelta", testCollectKeepsDelta},
		{"CollectDryRun", testCollectDryRun},
		{"CollectFailures", testCollectFailures},
	}
}

// promises are the tests of what holds for the store as a whole.
func promises() []check {
	return []check{
		{"Usage", testUsage},
		{"ReturnedValuesAreTheCallers", testReturnedValuesAreTheCallers},
		{"CanceledContext", testCanceledContext},
		{"Closed", testClosed},
		{"ReadersSeeWholeSnapshots", testReadersSeeWholeSnapshots},
		{"RowsWrittenPerEdit", testRowsWrittenPerEdit},
	}
}
