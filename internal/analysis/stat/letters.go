package stat

import (
	"fmt"
	"slices"
)

// letters gives each arm in the order letters such that two arms share one if and only if they are
// not significantly different (the display of Piepho, J. Computational and Graphical Statistics 13,
// 2004). The best arm has "a". Each pair that is not different and has no letter yet gets one,
// which as many others as can then share: insert and absorb, as published, needs exponential time
// where many arms differ from some of many alike.
func (c *Comparison) letters() []string {
	n := len(c.Order)
	alike := func(i, j int) bool { return i == j || !c.pairs[c.Order[i]][c.Order[j]].Significant }
	var groups [][]bool // groups[letter][place in the order]
	for i := range n {
		for j := i; j < n; j++ {
			shared := slices.ContainsFunc(groups, func(g []bool) bool { return g[i] && g[j] })
			if shared || !alike(i, j) || i == j && slices.ContainsFunc(c.Order[i+1:],
				func(other int) bool { return !c.pairs[c.Order[i]][other].Significant }) {
				continue
			}
			group := make([]bool, n)
			group[i], group[j] = true, true
			for k := range n {
				joins := true
				for m, in := range group {
					joins = joins && (!in || alike(k, m))
				}
				group[k] = group[k] || joins
			}
			groups = append(groups, group)
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

// letter is a to z, then a1, b1 …
func letter(n int) string {
	if n < 26 {
		return string(rune('a' + n))
	}
	return fmt.Sprintf("%c%d", 'a'+n%26, n/26)
}
