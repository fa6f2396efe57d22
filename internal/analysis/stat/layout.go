package stat

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// layout is the least-squares fit of log values to arm + block, where some values may be missing.
// Arms that share blocks, directly or through others, are connected: only between these are there
// ratios.
type layout struct {
	arms, blocks int
	values       []placed
	groups       []group
	groupOf      []int     // of an arm; -1: it has no value
	count        []int     // values of an arm
	mean         []float64 // log value of an arm, adjusted for the blocks that it missed
	// weight[arm][i] is what value i counts in the arm's mean.
	weight [][]float64
	// residual[arm] is the arm's sum of squared residuals; cross[a][b] the sum of squares of the
	// elements of the residual projection between the values of a and of b; trace[arm] the sum of
	// its diagonal over the arm.
	residual, trace []float64
	left            []float64 // the residual of each value
	cross           [][]float64
}

// placed is a log value with its place.
type placed struct {
	arm, block int
	log        float64
}

// group is a set of connected arms with the blocks they ran in.
type group struct {
	arms, blocks []int
	// spread is the variance of the estimated block effects, in which noise[arm] times the arm's
	// variance is expected.
	spread float64
	noise  []float64
}

// usable reports whether v has a finite logarithm.
func usable(v float64) bool { return v > 0 && !math.IsInf(v, 1) }

func newLayout(values [][]float64) *layout {
	n := len(values)
	l := &layout{arms: n, groupOf: make([]int, n), count: make([]int, n), mean: make([]float64, n)}
	l.weight, l.cross = make([][]float64, n), make([][]float64, n)
	l.residual, l.trace = make([]float64, n), make([]float64, n)
	for a, row := range values {
		l.groupOf[a] = -1
		l.cross[a] = make([]float64, len(values))
		l.blocks = max(l.blocks, len(row))
		for b, v := range row {
			if usable(v) {
				l.values = append(l.values, placed{a, b, math.Log(v)})
				l.count[a]++
			}
		}
	}
	for a := range values {
		l.weight[a] = make([]float64, len(l.values))
	}
	l.left = make([]float64, len(l.values))
	l.connect()
	for i := range l.groups {
		l.fit(&l.groups[i])
	}
	return l
}

// residuals are those of the values by arm and block; NaN: there is none.
func (l *layout) residuals() [][]float64 {
	rest := make([][]float64, l.arms)
	for a := range rest {
		rest[a] = make([]float64, l.blocks)
		for b := range rest[a] {
			rest[a][b] = math.NaN()
		}
	}
	for i, v := range l.values {
		rest[v.arm][v.block] = l.left[i]
	}
	return rest
}

// connect finds the groups.
func (l *layout) connect() {
	ofBlock := make([]int, l.blocks)
	for b := range ofBlock {
		ofBlock[b] = -1
	}
	for a, n := range l.count {
		if n == 0 || l.groupOf[a] >= 0 {
			continue
		}
		id := len(l.groups)
		l.groupOf[a] = id
		for grown := true; grown; {
			grown = false
			for _, v := range l.values {
				if l.groupOf[v.arm] == id && ofBlock[v.block] < 0 {
					ofBlock[v.block], grown = id, true
				}
				if ofBlock[v.block] == id && l.groupOf[v.arm] < 0 {
					l.groupOf[v.arm], grown = id, true
				}
			}
		}
		g := group{noise: make([]float64, l.arms)}
		for arm, of := range l.groupOf {
			if of == id {
				g.arms = append(g.arms, arm)
			}
		}
		for block, of := range ofBlock {
			if of == id {
				g.blocks = append(g.blocks, block)
			}
		}
		l.groups = append(l.groups, g)
	}
}

// fit solves the normal equations of a group for the arms, the blocks eliminated.
func (l *layout) fit(g *group) {
	m := len(g.arms)
	armAt, blockAt := make(map[int]int, m), make(map[int]int, len(g.blocks))
	for i, a := range g.arms {
		armAt[a] = i
	}
	for i, b := range g.blocks {
		blockAt[b] = i
	}
	var own []int // places of the group's values
	in := make([][]int, len(g.blocks))
	for i, v := range l.values {
		if at, ok := blockAt[v.block]; ok {
			own = append(own, i)
			in[at] = append(in[at], armAt[v.arm])
		}
	}
	normal := mat.NewSymDense(m, nil)
	for i, a := range g.arms {
		for k := i; k < m; k++ {
			normal.SetSym(i, k, 1/float64(m)) // fixes the free constant: arms sum to zero
		}
		normal.SetSym(i, i, normal.At(i, i)+float64(l.count[a]))
	}
	for _, arms := range in {
		for _, i := range arms {
			for _, k := range arms {
				if i <= k {
					normal.SetSym(i, k, normal.At(i, k)-1/float64(len(arms)))
				}
			}
		}
	}
	var cholesky mat.Cholesky
	inverse := mat.NewSymDense(m, nil)
	if !cholesky.Factorize(normal) || cholesky.InverseTo(inverse) != nil {
		panic("stat: the normal equations of connected arms are singular")
	}
	// z is a value's row of the design with its block eliminated, w what the value counts in each
	// arm's effect.
	n := len(own)
	z, w := make([][]float64, n), make([][]float64, n)
	for i, at := range own {
		v := l.values[at]
		z[i], w[i] = make([]float64, m), make([]float64, m)
		arms := in[blockAt[v.block]]
		z[i][armAt[v.arm]] = 1
		for _, a := range arms {
			z[i][a] -= 1 / float64(len(arms))
		}
		for a := range m {
			for k := range m {
				w[i][a] += inverse.At(a, k) * z[i][k]
			}
		}
	}
	l.project(g, own, in, blockAt, z, w)
	l.addBlocks(g, own, in, blockAt, armAt, w)
}

// project adds up residuals and the squares of the residual projection.
func (l *layout) project(g *group, own []int, in [][]int, blockAt map[int]int, z, w [][]float64) {
	for i, at := range own {
		v := l.values[at]
		var left float64
		for k, other := range own {
			u := l.values[other]
			var r float64
			if i == k {
				r = 1
			}
			if u.block == v.block {
				r -= 1 / float64(len(in[blockAt[v.block]]))
			}
			for a := range z[i] {
				r -= z[i][a] * w[k][a]
			}
			left += r * u.log
			l.cross[v.arm][u.arm] += r * r
			if i == k {
				l.trace[v.arm] += r
			}
		}
		l.left[at] = left
		l.residual[v.arm] += left * left
	}
}

// addBlocks estimates the blocks' effects, their spread, and the arms' adjusted means.
func (l *layout) addBlocks(g *group, own []int, in [][]int, blockAt, armAt map[int]int, w [][]float64) {
	blocks := float64(len(g.blocks))
	effect := make([]float64, len(g.blocks))
	for i, at := range own {
		v := l.values[at]
		counts := make([]float64, len(in)) // what the value counts in each block's effect
		var mean float64
		for b, arms := range in {
			if blockAt[v.block] == b {
				counts[b] = 1 / float64(len(arms))
			}
			for _, a := range arms {
				counts[b] -= w[i][a] / float64(len(arms))
			}
			mean += counts[b] / blocks
			effect[b] += counts[b] * v.log
		}
		for _, c := range counts {
			if blocks > 1 {
				g.noise[v.arm] += square(c-mean) / (blocks - 1)
			}
		}
		for _, a := range g.arms {
			l.weight[a][at] = w[i][armAt[a]] + mean
			l.mean[a] += l.weight[a][at] * v.log
		}
	}
	g.spread = square(deviation(effect))
}
