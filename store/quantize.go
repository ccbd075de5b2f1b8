package store

import "math"

// Quantize writes a unit vector in int8 by symmetric rounding to the nearest, half away
// from zero, so that the same vector gives the same bytes everywhere. A zero vector gives
// a zero scale.
func Quantize(v []float32) Vector {
	var largest float32
	for _, x := range v {
		if a := float32(math.Abs(float64(x))); a > largest {
			largest = a
		}
	}
	out := Vector{Data: make([]int8, len(v))}
	if largest == 0 {
		return out
	}
	out.Scale = largest / 127
	for i, x := range v {
		out.Data[i] = int8(math.Round(float64(x) / float64(out.Scale)))
	}
	return out
}

// Floats gives back the components that Quantize rounded.
func (v Vector) Floats() []float32 {
	out := make([]float32, len(v.Data))
	for i, x := range v.Data {
		out[i] = float32(x) * v.Scale
	}
	return out
}
