package format

import (
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestNumbers(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Rate(412345), "412 k/s"}, {Rate(999600), "1.00 M/s"}, {Rate(0), "0/s"}, {Rate(math.NaN()), Absent},
		{Bytes(1.05e6), "1.05 MB"}, {Latency(1.25e6), "1.25 ms"}, {Latency(0), "0 s"},
		{Limit(24 << 20), "24 MiB"}, {Limit(1536 << 10), "1.5 MiB"}, {Limit(2e9), "2 GB"}, {Limit(1 << 20), "1 MiB"},
		{Percent(0.0425), "4.2 %"}, {Percent(0.56), "56 %"}, {Factor(1.416), "1.42×"}, {Factor(1432), "1,432×"},
		{Within(100, 98.8, 101.2), "±1.2 %"}, {Within(100, 43, 230), "×÷2.3"}, {Within(1, 0.001, 1000), "wide"},
		{Interval(1.38, 1.47), "1.38 to 1.47"}, {Interval(3.07, 853.9), "3.07 to 854"}, {Seconds(0.5), "500 ms"}, {Seconds(125), "2 min 05 s"}, {Seconds(4800), "1 h 20 min"},
		{List([]string{"a", "b", "c"}), "a, b and c"}, {ListMax([]string{"a", "b", "c", "d"}, 2), "a, b and 2 more"},
		{Plural(1, "block", ""), "1 block"}, {Plural(1204, "block", ""), "1,204 blocks"}, {Quantile(0.999), "p99.9"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func TestLimit_keeps_different_sizes_apart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Uint64Range(1, 1<<45).Draw(t, "a"), rapid.Uint64Range(1, 1<<45).Draw(t, "b")
		if a != b && Limit(a) == Limit(b) {
			t.Fatalf("%d and %d are both %s", a, b, Limit(a))
		}
	})
}

func TestClean_leaves_nothing_that_moves_a_cursor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := string(rapid.SliceOf(rapid.Byte()).Draw(t, "text"))
		clean := Clean(text)
		if !utf8.ValidString(clean) || strings.ContainsFunc(clean, func(r rune) bool {
			return r < ' ' || r >= 0x7f && r < 0xa0
		}) {
			t.Fatalf("%q became %q", text, clean)
		}
	})
	if got := Clean("a\x1b[2Jb\nc\u202ed"); got != "a·[2Jb c·d" {
		t.Errorf("got %q", got)
	}
	if got := CleanMax(strings.Repeat("é", 10), 5); got != "éé … (cut)" {
		t.Errorf("got %q", got)
	}
	if got := CSVSafe("=1+1"); got != "'=1+1" {
		t.Errorf("got %q", got)
	}
}

func TestClean_cuts_between_characters(t *testing.T) {
	for _, text := range []string{strings.Repeat("磁", TextMax), strings.Repeat("é", TextMax), strings.Repeat("x", TextMax+1)} {
		clean, cut := strings.CutSuffix(Clean(text), " … (cut)")
		if !cut || !utf8.ValidString(clean) || utf8.RuneCountInString(clean) < TextMax/4 || strings.Contains(clean, "·") {
			t.Errorf("%.10q…: %d bytes, cut %v", text, len(clean), cut)
		}
	}
}
