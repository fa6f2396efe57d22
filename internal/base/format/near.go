package format

import (
	"cmp"
	"slices"
	"strings"
)

// Nearest returns the name that word was probably meant to be: the one with the fewest edits, in less
// than a third of the letters (one in short words), or one that it begins or that begins it; "" if none
// is near.
func Nearest(word string, names []string) string {
	word = strings.ToLower(strings.TrimSpace(word))
	if word == "" {
		return ""
	}
	best, bestEdits := "", 3
	for _, name := range names {
		lower := strings.ToLower(name)
		most := max((max(len(word), len(lower))-1)/3, 1)
		if edits := editDistance(word, lower); edits < bestEdits && edits < max(len(word), 2) && edits <= most {
			best, bestEdits = name, edits
		}
	}
	if best != "" {
		return best
	}
	for _, name := range names {
		lower := strings.ToLower(name)
		if len(word) >= 2 && (strings.HasPrefix(lower, word) || len(lower) >= 3 && strings.HasPrefix(word, lower)) {
			return name
		}
	}
	return ""
}

// alikeMost is how many names [Alike] returns at most.
const alikeMost = 4

// Alike returns the names that are most like a word that is near to none: those that share most pairs of
// letters with it, at least a quarter of them.
func Alike(word string, names []string) (alike []string) {
	share := map[string]float64{}
	of := pairs(word)
	for _, name := range names {
		its, both := pairs(name), 0
		for pair := range its {
			if of[pair] {
				both++
			}
		}
		if share[name] = 2 * float64(both) / float64(max(len(of)+len(its), 1)); share[name] >= 0.25 {
			alike = append(alike, name)
		}
	}
	slices.SortStableFunc(alike, func(a, b string) int { return cmp.Compare(share[b], share[a]) })
	return alike[:min(len(alike), alikeMost)]
}

// pairs are the neighbouring letters of a word.
func pairs(word string) map[string]bool {
	all := map[string]bool{}
	word = strings.ToLower(word)
	for i := range len(word) - 1 {
		all[word[i:i+2]] = true
	}
	return all
}

// editDistance counts insertions, deletions, replacements and swaps of neighbours (optimal string
// alignment). Words that differ by more than two letters in length are three apart: callers need no
// larger distance.
func editDistance(a, b string) int {
	if len(a)-len(b) > 2 || len(b)-len(a) > 2 {
		return 3
	}
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			replace := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			rows[i][j] = min(replace, rows[i-1][j]+1, rows[i][j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
