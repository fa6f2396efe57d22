package stat

import "fmt"

// tooFew begins a sentence: "1 sample is too few". of may say which samples: " after the warm-up".
func tooFew(samples int, of string) string {
	if samples == 1 {
		return "1 sample" + of + " is too few"
	}
	return fmt.Sprintf("%d samples%s are too few", samples, of)
}
