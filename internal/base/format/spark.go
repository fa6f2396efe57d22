package format

import "strings"

// Spark draws values as bars one character wide, from floor (the lowest bar) to top. What is not
// above the floor, or not a number, is a space.
func Spark(values []float64, floor, top float64) string {
	levels := []rune("▁▂▃▄▅▆▇█")
	var b strings.Builder
	for _, v := range values {
		if !(v > floor) || !(top > floor) {
			b.WriteRune(' ')
			continue
		}
		b.WriteRune(levels[min(int((v-floor)/(top-floor)*float64(len(levels))), len(levels)-1)])
	}
	return b.String()
}
