package verdict

import (
	"fmt"
	"strings"
	"testing"
)

func TestTimesThatLookLikeAnotherUnit(t *testing.T) {
	for _, c := range []struct {
		first, step float64
		want        string
	}{
		{1, 1, ""},
		{600, 600, ""},
		{3600, 3600, ""},
		{1.7e9, 1, "looks like seconds since 1970"},
		{1.7e12, 1000, "looks like milliseconds since 1970: here they are taken for seconds; divide them by 1000"},
		{1.7e15, 1e6, "looks like microseconds since 1970"},
		{1.7e18, 1e9, "looks like nanoseconds since 1970"},
		{1000, 1000, "samples are 1000 s long: if time_s is in milliseconds, divide it by 1000"},
		{250, 250, "samples are 250 s long"},
	} {
		var b strings.Builder
		b.WriteString("time_s,rate\n")
		for i := range 20 {
			fmt.Fprintf(&b, "%.0f,%d\n", c.first+float64(i)*c.step, 1000+i%3)
		}
		_, notes, err := ReadSeries(strings.NewReader(b.String()))
		if err != nil {
			t.Fatal(err)
		}
		if all := strings.Join(notes, "\n"); !strings.Contains(all, c.want) || (c.want == "") != (all == "") || len(notes) > 1 {
			t.Errorf("from %v in steps of %v: %q, want %q", c.first, c.step, all, c.want)
		}
	}
}
