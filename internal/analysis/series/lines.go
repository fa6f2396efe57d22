package series

// lineSums are prefix sums that give the least-squares line of any stretch at once. x is the
// position.
type lineSums struct{ y, yy, xy []float64 }

func lineSumsOf(values []float64) lineSums {
	n := len(values)
	s := lineSums{make([]float64, n+1), make([]float64, n+1), make([]float64, n+1)}
	for i, v := range values {
		s.y[i+1], s.yy[i+1], s.xy[i+1] = s.y[i]+v, s.yy[i]+v*v, s.xy[i]+v*float64(i)
	}
	return s
}

// moments returns the means of x and y, and the sums of squares and products around them.
func (s lineSums) moments(from, to int) (mx, my, sxx, sxy, syy float64) {
	n := float64(to - from)
	mx, my = float64(from+to-1)/2, (s.y[to]-s.y[from])/n
	return mx, my, n * (n*n - 1) / 12, s.xy[to] - s.xy[from] - n*mx*my, s.yy[to] - s.yy[from] - n*my*my
}

func (s lineSums) slope(from, to int) float64 {
	_, _, sxx, sxy, _ := s.moments(from, to)
	return sxy / sxx
}

func (s lineSums) cost(from, to int) float64 {
	_, _, sxx, sxy, syy := s.moments(from, to)
	return max(syy-sxy*sxy/sxx, 0)
}

// at is the line of a stretch at a position.
func (s lineSums) at(from, to int, x float64) float64 {
	mx, my, sxx, sxy, _ := s.moments(from, to)
	return my + sxy/sxx*(x-mx)
}

// between is the squared distance of samples i … j from a straight ramp between the lines before
// and after them.
func (s lineSums) between(values []float64, i, j int) (sum float64) {
	if i == j {
		return 0
	}
	n := len(values)
	before, after := s.at(0, i, float64(i)-1), s.at(j, n, float64(j))
	for k := i; k < j; k++ {
		d := values[k] - before - (after-before)*float64(k-i+1)/float64(j-i+1)
		sum += d * d
	}
	return sum
}

// residuals are the distances from the lines before and after a place.
func (s lineSums) residuals(values []float64, place fit) (rest []float64) {
	for k, y := range values {
		switch {
		case k < place.from:
			rest = append(rest, y-s.at(0, place.from, float64(k)))
		case k >= place.to:
			rest = append(rest, y-s.at(place.to, len(values), float64(k)))
		}
	}
	return rest
}
