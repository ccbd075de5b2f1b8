package fit

import "math"

// The conversions of products to float32 forbid a fused multiply-add, so that every machine
// computes the same. Lengths are multiples of 4.

// dot is the inner product of two vectors.
func dot(a, b []float32) float32 {
	var s0, s1, s2, s3 float32
	b = b[:len(a)]
	for i := 0; i+3 < len(a); i += 4 {
		s0 += float32(a[i] * b[i])
		s1 += float32(a[i+1] * b[i+1])
		s2 += float32(a[i+2] * b[i+2])
		s3 += float32(a[i+3] * b[i+3])
	}
	return (s0 + s1) + (s2 + s3)
}

// axpy adds w times x to y.
func axpy(y []float32, w float32, x []float32) {
	x = x[:len(y)]
	for i := 0; i+3 < len(y); i += 4 {
		y[i] += float32(w * x[i])
		y[i+1] += float32(w * x[i+1])
		y[i+2] += float32(w * x[i+2])
		y[i+3] += float32(w * x[i+3])
	}
}

// exp is e to the x for x at most 0, by a polynomial of degree 6 on [-ln 2 / 2, ln 2 / 2]:
// the standard library's differs from one machine to the next.
func exp(x float32) float32 {
	if x < -80 {
		return 0
	}
	n := math.Floor(float64(x)*math.Log2E + 0.5)
	r := float64(x) - float64(n*math.Ln2)
	p := 1.0
	for k := 6; k >= 1; k-- {
		p = 1 + float64(p*float64(r/float64(k)))
	}
	return float32(math.Ldexp(p, int(n)))
}

// log is the natural logarithm of a positive number.
func log(x float32) float32 { return float32(math.Log(float64(x))) }
