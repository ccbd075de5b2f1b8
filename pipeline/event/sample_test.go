package event

import (
	"crypto/sha256"
	"time"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

func hashOf(s string) merkle.Hash { return sha256.Sum256([]byte(s)) }

// sampleBase is the header that the samples share.
func sampleBase() Event {
	return Event{
		Codebase:    "c7k2m9",
		Snapshot:    12,
		Fingerprint: store.Fingerprint(hashOf("recipe").String()),
		At:          time.Date(2026, 11, 20, 9, 30, 0, 123456789, time.UTC),
	}
}

func sampleRecipe() store.Recipe {
	return store.Recipe{
		Schema:    1,
		Tokenizer: "1",
		Embedding: store.EmbeddingRecipe{
			Provider: "builtin", Model: "projection", Artifact: hashOf("model").String(),
			Dimension: 256, Normalization: "unit",
		},
		Chunker:     "1",
		Grammars:    map[string]string{"Go": "1.2.3", "C++": "0.1"},
		IgnoreRules: "1",
	}
}

func sampleFiles() []File {
	return []File{
		{Path: "cmd/main.go", Content: hashOf("main"), Size: 812, Language: "Go"},
		{
			Path: merkle.QuotePath("odd/<näme>\xff\n\"x\".go"), From: "odd/before & after.go",
			Content: hashOf("odd"), Size: 0, Language: "Go", Flags: store.FlagTest | store.FlagVendored,
		},
	}
}

func sampleParked() Parked {
	return Parked{
		Path: "deep/nested.md", Content: hashOf("nested"), Stage: store.StageChunk,
		Version: "1/Markdown@1", Tries: 5, Reason: "the parser ended by itself 5 times",
	}
}

// samples gives one event of every type, in the order of Types.
func samples() []Event {
	base := sampleBase()
	opening := Opening(base, Opened{Parent: 11, Root: hashOf("root"), Ref: "main", Recipe: sampleRecipe()},
		sampleFiles(), []string{"gone.go", merkle.QuotePath("gone\x01.go")})
	opened, removed, changed := opening[0], opening[1], opening[2]
	later := base.At.Add(time.Second)
	return []Event{
		opened, changed, removed,
		Chunked(changed, sampleFiles(), later),
		Embedded(changed, sampleFiles()[:1], later),
		ParkedFile(base, sampleParked()),
		UnparkedFile(base, sampleParked()),
		SealedAt(base, Sealed{Root: hashOf("root"), Level: "full", Files: 41, Parked: 1}),
		RegisteredCodebase(base, "freshet", "/home/me/src/fresh\x01et"),
		ClearedCodebase(base, "freshet", "/home/me/src/freshet"),
		BaselineOf(Baseline{
			Incarnation: "b2", Reason: "gap", PreviousIncarnation: "b1", PreviousSequence: 4711,
		}, base.At),
	}
}
