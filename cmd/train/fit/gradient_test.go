package fit

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/freshet/freshet/cmd/train/pairs"
)

// randomBatch makes pairs over a few words, so that rows are shared by texts and sides.
func randomBatch(random *rand.Rand, n, words int) []example {
	text := func() (bag []pairs.Entry) {
		for _, w := range random.Perm(words)[:2+random.IntN(4)] {
			bag = append(bag, pairs.NewEntry(w, 1+random.IntN(5)))
		}
		return bag
	}
	batch := make([]example, n)
	for i := range batch {
		batch[i] = example{query: text(), code: text()}
	}
	return batch
}

func vocabularyOf(words int) *Vocabulary {
	v := &Vocabulary{}
	for i := range words {
		v.Words = append(v.Words, string(rune('a'+i)))
		v.Shares = append(v.Shares, 1/float64(10*(i+1)))
	}
	return v
}

// The derivatives that a step uses must be those of the loss: the slope of each component
// of each row and of each weight against the difference of losses a little to both sides of it.
func TestGradientAgainstDifferences(t *testing.T) {
	t.Parallel()
	const words, dimension, size, temperature, nudge = 12, 8, 6, 0.5, 1e-2
	random := rand.New(rand.NewPCG(1, 2))
	o := Options{Dimension: dimension, BlockSize: size, Blocks: 1, Temperature: temperature, Seed: 3, Workers: 1}
	trainer := newTrainer(vocabularyOf(words), o)
	for i := range trainer.model.Rows {
		trainer.model.Rows[i] = float32(random.NormFloat64())
	}
	for i := range trainer.model.Asked {
		trainer.model.Asked[i] = 0.5 + random.Float32()
	}
	b := trainer.blocks[0]
	b.load(randomBatch(random, size, words))
	b.forward(trainer.model, temperature)
	b.backward(temperature)
	trainer.gather(trainer.blocks, 0, dimension)
	trainer.asked.gather(trainer.model, trainer.blocks)
	check := func(name string, i int, parameter *float32, slope float32) {
		old := *parameter
		*parameter = old + nudge
		above := b.forward(trainer.model, temperature)
		*parameter = old - nudge
		below := b.forward(trainer.model, temperature)
		*parameter = old
		want := (above - below) / (2 * nudge)
		if got := float64(slope); math.Abs(got-want) > 2e-3*(1+math.Abs(want)) {
			t.Errorf("%s %d: slope %g, differences give %g", name, i, got, want)
		}
	}
	for i := range trainer.model.Rows {
		check("component", i, &trainer.model.Rows[i], trainer.slopes[i])
	}
	for i := range trainer.model.Asked {
		check("weight in queries", i, &trainer.model.Asked[i], trainer.asked.slopes[i])
	}
}

func TestExp(t *testing.T) {
	t.Parallel()
	for x := float32(-79); x <= 0; x += 0.37 {
		want := math.Exp(float64(x))
		if got := float64(exp(x)); math.Abs(got-want) > 1e-6*want {
			t.Errorf("exp(%g) = %g, want %g", x, got, want)
		}
	}
	if got := exp(-1000); got != 0 {
		t.Errorf("exp(-1000) = %g, want 0", got)
	}
}
