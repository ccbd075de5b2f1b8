package fit

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/freshet/freshet/cmd/train/pairs"
)

// topics makes a set in which each topic has words of its own for queries and for code, and
// pairs join the two vocabularies: what is to be learned cannot be read from the words.
func topics(n, each int) *pairs.Set {
	set := pairs.New()
	for i := range each {
		for topic := range n {
			source := set.Source(fmt.Sprintf("s%d", i%4))
			query := fmt.Sprintf("asks%c about%c filler%c", 'a'+topic, 'a'+(topic+i)%n, 'a'+i%7)
			code := fmt.Sprintf("does%c with%c noise%c return return", 'a'+topic, 'a'+(topic+i)%n, 'a'+i%5)
			set.Add(pairs.Pair{Query: set.Bag([]byte(query)), Code: set.Bag([]byte(code)), Source: source,
				Language: set.Language("go"), Kind: pairs.Doc})
		}
	}
	return set
}

func trained(t *testing.T, workers int) (*Model, *Vocabulary, *pairs.Set, []pairs.Pair) {
	t.Helper()
	set := topics(16, 60)
	held := Split(set, 10)
	v := NewVocabulary(set, VocabularyOptions{MinCount: 2, MinSources: 2, MaxWords: 100})
	o := Defaults()
	o.Dimension, o.BlockSize, o.Blocks, o.Epochs, o.Workers = 32, 16, 4, 4, workers
	m, err := Train(t.Context(), set, v, o)
	if err != nil {
		t.Fatal(err)
	}
	return m, v, set, held
}

func TestTrainingLearnsWhatWordsDoNotSay(t *testing.T) {
	t.Parallel()
	m, v, set, held := trained(t, 1)
	before := Rank(NewModel(v, m.Dimension, 1), v, set, held, 50)[""]
	after := Rank(m, v, set, held, 50)[""]
	if after < 0.8 || after < before+0.3 {
		t.Errorf("held-out mean reciprocal rank %.3f untrained, %.3f trained", before, after)
	}
}

func TestSameSeedSameBytes(t *testing.T) {
	t.Parallel()
	var want []byte
	for _, workers := range []int{1, 2, 5} {
		m, v, _, _ := trained(t, workers)
		got, err := m.Quantise(v)
		if err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = got
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%d workers give another table than one", workers)
		}
	}
}

func TestOptionsOutOfBounds(t *testing.T) {
	t.Parallel()
	set := topics(2, 2)
	v := NewVocabulary(set, VocabularyOptions{MinCount: 1, MinSources: 1, MaxWords: 10})
	for name, change := range map[string]func(*Options){
		"dimension": func(o *Options) { o.Dimension = 12 },
		"block":     func(o *Options) { o.BlockSize = 1 },
		"workers":   func(o *Options) { o.Workers = 0 },
	} {
		o := Defaults()
		change(&o)
		if _, err := Train(t.Context(), set, v, o); err == nil {
			t.Errorf("%s: trained with %+v", name, o)
		}
	}
}

func TestVocabulary(t *testing.T) {
	t.Parallel()
	set := pairs.New()
	for i := range 3 {
		p := pairs.Pair{Source: set.Source(fmt.Sprint(i)), Query: set.Bag([]byte("server server conn")), Code: set.Bag([]byte("connserver zq"))}
		set.Add(p)
	}
	v := NewVocabulary(set, VocabularyOptions{MinCount: 3, MinSources: 3, MaxWords: 2})
	if want := []string{"server", "conn"}; !slices.Equal(v.Words, want) {
		t.Fatalf("words %v, want %v", v.Words, want)
	}
	got := v.Bag(set.Pairs[0].Code, map[uint32]int{})
	if want := []pairs.Entry{pairs.NewEntry(1, 1), pairs.NewEntry(0, 1)}; !slices.Equal(got, want) {
		t.Errorf("connserver zq is %v in rows, want %v", got, want)
	}
}

func TestPlanHoldsEveryPairOnce(t *testing.T) {
	t.Parallel()
	set := topics(16, 13)
	tr := &trainer{Options: Options{BlockSize: 8, Blocks: 3, Seed: 1}}
	seen := make([]int, len(set.Pairs))
	for _, step := range tr.plan(set, 0) {
		if len(step) > 3 {
			t.Errorf("a step of %d blocks", len(step))
		}
		for _, block := range step {
			if len(block) < 2 || len(block) > 8 {
				t.Errorf("a block of %d pairs", len(block))
			}
			for _, i := range block {
				seen[i]++
			}
		}
	}
	for i, n := range seen {
		if n > 1 {
			t.Errorf("pair %d stands there %d times", i, n)
		}
	}
}
