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

// dots writes the inner products of a with the rows of b, which are as long as a, to out.
// Four rows at a time share the loads of a.
func dots(out, a, b []float32) {
	n := len(a)
	j := 0
	for ; j+4 <= len(out); j += 4 {
		b0, b1 := b[j*n : (j+1)*n][:n], b[(j+1)*n : (j+2)*n][:n]
		b2, b3 := b[(j+2)*n : (j+3)*n][:n], b[(j+3)*n : (j+4)*n][:n]
		var s0, s1, s2, s3 float32
		for i, x := range a {
			s0 += float32(x * b0[i])
			s1 += float32(x * b1[i])
			s2 += float32(x * b2[i])
			s3 += float32(x * b3[i])
		}
		out[j], out[j+1], out[j+2], out[j+3] = s0, s1, s2, s3
	}
	for ; j < len(out); j++ {
		row := b[j*n : (j+1)*n][:n]
		var s float32
		for i, x := range a {
			s += float32(x * row[i])
		}
		out[j] = s
	}
}

// axpy4 is axpy of four vectors, which share the loads and stores of y.
func axpy4(y []float32, w [4]float32, a, b, c, d []float32) {
	a, b, c, d = a[:len(y)], b[:len(y)], c[:len(y)], d[:len(y)]
	for i := range y {
		y[i] += (float32(w[0]*a[i]) + float32(w[1]*b[i])) + (float32(w[2]*c[i]) + float32(w[3]*d[i]))
	}
}
