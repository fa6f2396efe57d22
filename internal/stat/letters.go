package stat

import (
	"fmt"
	"slices"
)

// letters gives each arm in the order letters such that two arms share one if and only if they are
// not significantly different (insert and absorb: Piepho, J. Computational and Graphical Statistics
// 13, 2004). The best arm has "a".
func (c *Comparison) letters() []string {
	groups := [][]bool{make([]bool, len(c.Order))} // groups[letter][place in the order]
	for i := range c.Order {
		groups[0][i] = true
	}
	for i, a := range c.Order {
		for j := i + 1; j < len(c.Order); j++ {
			if !c.pairs[a][c.Order[j]].Significant {
				continue
			}
			var split [][]bool
			for _, g := range groups {
				if !g[i] || !g[j] {
					split = append(split, g)
					continue
				}
				without := slices.Clone(g)
				g[i], without[j] = false, false
				split = append(split, without, g)
			}
			groups = absorb(split)
		}
	}
	slices.SortFunc(groups, func(a, b []bool) int { // by the best arm that has the letter, then the next
		for i := range a {
			switch {
			case a[i] && !b[i]:
				return -1
			case b[i] && !a[i]:
				return 1
			}
		}
		return 0
	})
	letters := make([]string, len(c.Arms))
	for n, g := range groups {
		for i, in := range g {
			if in {
				letters[c.Order[i]] += letter(n)
			}
		}
	}
	return letters
}

// absorb drops each group that another one holds.
func absorb(groups [][]bool) [][]bool {
	var kept [][]bool
	for n, g := range groups {
		held := slices.IndexFunc(groups, func(h []bool) bool {
			for i := range g {
				if g[i] && !h[i] {
					return false
				}
			}
			return !slices.Equal(g, h)
		}) >= 0
		twice := slices.ContainsFunc(groups[:n], func(h []bool) bool { return slices.Equal(g, h) })
		if !held && !twice {
			kept = append(kept, g)
		}
	}
	return kept
}

// letter is a to z, then a1, b1 …
func letter(n int) string {
	if n < 26 {
		return string(rune('a' + n))
	}
	return fmt.Sprintf("%c%d", 'a'+n%26, n/26)
}
