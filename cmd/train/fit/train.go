package fit

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/freshet/freshet/cmd/train/pairs"
)

// Options are how a model is trained.
type Options struct {
	Dimension   int
	Epochs      int
	BlockSize   int // pairs that are each other's negatives
	Blocks      int // of a step
	Temperature float64
	Rate        float64 // of learning, falling to 0
	AskedRate   float64 // of learning the weights in queries
	// QueryWords and CodeWords are the most distinct words of a text that count, the first
	// ones: queries are short, and code says at its beginning what it is.
	QueryWords, CodeWords int
	// Places adds the words of its path to code, as is done when code is indexed.
	Places bool
	Seed   uint64
	// Workers is how many goroutines work; it does not change the result.
	Workers int
	// Report is called about a hundred times with the step, the steps and the mean loss
	// since it was last called; nil says nothing.
	Report func(step, steps int, loss float64)
}

// Defaults returns the options of the shipped model.
func Defaults() Options {
	return Options{Dimension: 256, Epochs: 3, BlockSize: 128, Blocks: 16, Temperature: 0.1, Rate: 0.06, AskedRate: 0.02,
		QueryWords: pairs.MaxDistinct, CodeWords: pairs.MaxDistinct, Places: true, Seed: 1, Workers: 1}
}

// example is a pair in rows.
type example struct{ query, code []pairs.Entry }

// trainer is the state of a training.
type trainer struct {
	Options
	model   *Model
	blocks  []*block
	slopes  []float32 // by row, zero between steps
	squares []float32 // sums of squared slopes
	asked   weights
	touched []uint32
	marks   []bool
}

// Train trains a model on the pairs of a set. It returns early with the error of ctx.
func Train(ctx context.Context, set *pairs.Set, v *Vocabulary, o Options) (*Model, error) {
	if o.Dimension < 8 || o.Dimension%8 != 0 || o.BlockSize < 2 || o.Blocks < 1 || o.Epochs < 1 || o.Workers < 1 {
		return nil, fmt.Errorf("train: options %+v out of bounds", o)
	}
	examples := encode(set, v, o)
	t := newTrainer(v, o)
	done, since, loss := 0, 0, 0.0
	for epoch := range o.Epochs {
		plan := t.plan(set, epoch)
		steps := len(plan) * o.Epochs
		for _, batch := range plan {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			rate := (1 - float64(done)/float64(steps))
			loss += t.step(examples, batch, rate)
			done, since = done+1, since+1
			if o.Report != nil && (done*100/steps != (done-1)*100/steps || done == steps) {
				o.Report(done, steps, loss/float64(since))
				loss, since = 0, 0
			}
		}
	}
	return t.model, nil
}

func encode(set *pairs.Set, v *Vocabulary, o Options) []example {
	scratch := map[uint32]int{}
	out := make([]example, len(set.Pairs))
	for i, p := range set.Pairs {
		out[i] = o.encode(&p, v, scratch)
	}
	return out
}

func (o *Options) encode(p *pairs.Pair, v *Vocabulary, scratch map[uint32]int) example {
	query, code := p.Query[:min(len(p.Query), o.QueryWords)], p.Code[:min(len(p.Code), o.CodeWords)]
	if o.Places && p.Kind != pairs.Path {
		code = slices.Concat(code, p.Place)
	}
	return example{query: v.Bag(query, scratch), code: v.Bag(code, scratch)}
}

func newTrainer(v *Vocabulary, o Options) *trainer {
	t := &trainer{Options: o, model: NewModel(v, o.Dimension, o.Seed), marks: make([]bool, len(v.Words))}
	t.slopes = make([]float32, len(t.model.Rows))
	t.squares = make([]float32, len(t.model.Rows))
	t.asked = weights{slopes: make([]float32, len(v.Words)), squares: make([]float32, len(v.Words))}
	for range o.Blocks {
		t.blocks = append(t.blocks, newBlock(o.BlockSize, o.Dimension))
	}
	return t
}

// step learns from a batch and returns its mean loss a pair.
func (t *trainer) step(examples []example, batch [][]int, pace float64) float64 {
	losses, count := make([]float64, len(batch)), 0
	temperature := float32(t.Temperature)
	for i, members := range batch {
		count += len(members)
		chosen := make([]example, len(members))
		for k, at := range members {
			chosen[k] = examples[at]
		}
		t.blocks[i].load(chosen)
	}
	t.share(len(batch), func(i int) {
		losses[i] = t.blocks[i].forward(t.model, temperature)
		t.blocks[i].backward(temperature)
	})
	t.touch(len(batch))
	t.asked.gather(t.model, t.blocks[:len(batch)]) // while the rows are as they were
	const stripe = 32
	t.share((t.Dimension+stripe-1)/stripe, func(i int) {
		from, to := i*stripe, min((i+1)*stripe, t.Dimension)
		t.gather(t.blocks[:len(batch)], from, to)
		t.update(from, to, float32(t.Rate*pace), 1/float32(count))
	})
	t.asked.update(t.model, t.touched, float32(t.AskedRate*pace), 1/float32(count))
	total := 0.0
	for _, loss := range losses {
		total += loss
	}
	return total / float64(count)
}

// share calls f for 0 to n-1 on the workers and waits.
func (t *trainer) share(n int, f func(int)) {
	var wg sync.WaitGroup
	for w := range min(t.Workers, n) {
		wg.Go(func() {
			for i := w; i < n; i += t.Workers {
				f(i)
			}
		})
	}
	wg.Wait()
}

// touch lists the rows of the batch.
func (t *trainer) touch(n int) {
	for _, row := range t.touched {
		t.marks[row] = false
	}
	t.touched = t.touched[:0]
	for _, b := range t.blocks[:n] {
		for _, s := range []*side{&b.queries, &b.code} {
			for _, text := range s.texts {
				for _, e := range text {
					if !t.marks[e.Word()] {
						t.marks[e.Word()] = true
						t.touched = append(t.touched, uint32(e.Word()))
					}
				}
			}
		}
	}
}

// gather adds the slopes of the texts to those of their rows, in a stripe of components.
func (t *trainer) gather(blocks []*block, from, to int) {
	for _, b := range blocks {
		for _, s := range []*side{&b.queries, &b.code} {
			for i, text := range s.texts {
				slope := s.slope(i, t.Dimension)[from:to]
				for _, e := range text {
					row := e.Word() * t.Dimension
					axpy(t.slopes[row+from:row+to], t.model.weight(e, s.query), slope)
				}
			}
		}
	}
}

// tiny keeps a slope whose square is 0 from being divided by it.
const tiny = 1e-10

// update moves the touched rows against their slopes, in a stripe of components.
func (t *trainer) update(from, to int, rate, scale float32) {
	for _, row := range t.touched {
		start := int(row) * t.Dimension
		rows := t.model.Rows[start+from : start+to]
		slopes, squares := t.slopes[start+from:start+to], t.squares[start+from:start+to]
		for i, slope := range slopes {
			slope *= scale
			slopes[i] = 0
			if slope == 0 {
				continue
			}
			squares[i] += float32(slope * slope)
			rows[i] -= float32(rate * (slope / (float32(math.Sqrt(float64(squares[i]))) + tiny)))
		}
	}
}
