package csvseries

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"unicode/utf16"

	"assay/internal/analysis/series"
)

// wave is a steady rate of many digits.
func wave(i int) float64 { return 98_765.25 + 1000*math.Sin(float64(i*i)) }

func inUTF16(text string, order binary.AppendByteOrder, mark bool) string {
	var b []byte
	if mark {
		b = order.AppendUint16(b, 0xFEFF)
	}
	for _, unit := range utf16.Encode([]rune(text)) {
		b = order.AppendUint16(b, unit)
	}
	return string(b)
}

// One series, written as other programs write it, is read as the same samples.
//
// Fault (watchers): a series is JSON, UTF-16, has CR for line ends, decimal commas, points for
// thousands, dates, repeated seconds
// Assay: read as what it is, or refused with what to do
// With: csvseries.TestRead_refuses
func TestRead_forms(t *testing.T) {
	const n = 40
	lines := func(head string, line func(i int) string) string {
		var b strings.Builder
		b.WriteString(head)
		for i := range n {
			b.WriteString(line(i))
		}
		return b.String()
	}
	commas := func(text string) string { return strings.ReplaceAll(text, ".", ",") }
	plain := lines("time_s,rate\n", func(i int) string { return fmt.Sprintf("%d,%.2f\n", i+1, wave(i)) })
	german := lines("time_s;rate\n", func(i int) string { return fmt.Sprintf("%d;%s\n", i+1, commas(fmt.Sprintf("%.2f", wave(i)))) })
	grouped := func(group, decimal string) func(i int) string {
		return func(i int) string {
			text := fmt.Sprintf("%.2f", wave(i))
			whole, fraction, _ := strings.Cut(text, ".")
			return fmt.Sprintf("%d;%s%s%s%s%s\n", i+1, whole[:len(whole)-3], group, whole[len(whole)-3:], decimal, fraction)
		}
	}
	objects := func(first, between, last, form string) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(form, i+1, wave(i)))
		}
		return first + strings.Join(all, between) + last
	}
	date := func(layout string) func(i int) string {
		return func(i int) string {
			return fmt.Sprintf(layout, i/60, i%60, wave(i))
		}
	}
	for name, c := range map[string]struct {
		text string
		as   Columns
	}{
		"plain":                           {text: plain},
		"UTF-8 with a mark":               {text: "\uFEFF" + plain},
		"UTF-16, little end":              {text: inUTF16(plain, binary.LittleEndian, true)},
		"UTF-16, big end":                 {text: inUTF16(plain, binary.BigEndian, true)},
		"UTF-16 without a mark":           {text: inUTF16(plain, binary.LittleEndian, false)},
		"UTF-16 without a mark, big end":  {text: inUTF16(plain, binary.BigEndian, false)},
		"CR":                              {text: strings.ReplaceAll(plain, "\n", "\r")},
		"CR LF":                           {text: strings.ReplaceAll(plain, "\n", "\r\n")},
		"decimal commas":                  {text: german},
		"decimal commas in quotes":        {text: lines("time_s,rate\n", func(i int) string { return fmt.Sprintf("%d,\"%s\"\n", i+1, commas(fmt.Sprintf("%.2f", wave(i)))) })},
		"points for thousands":            {text: lines("time_s;rate\n", grouped(".", ","))},
		"commas for thousands":            {text: lines("time_s;rate\n", grouped(",", "."))},
		"apostrophes for thousands":       {text: lines("time_s;rate\n", grouped("'", "."))},
		"no-break spaces":                 {text: lines("time_s;rate\n", grouped("\u202f", ","))},
		"JSON, a list":                    {text: objects("[", ",", "]", `{"time_s":%d,"rate":%.2f}`)},
		"JSON, a list on lines":           {text: objects("[\n", ",\n  ", "\n]\n", `{"time_s": %d, "rate": "%.2f"}`)},
		"JSON, one a line":                {text: objects("", "\n", "\n", `{"time_s":%d,"host":"a","rate":%.2f}`)},
		"JSON, within a document":         {text: objects(`{"status":"ok","data":{"points":[`, ",", "]}}", `{"time_s":%d,"rate":%.2f}`)},
		"JSON, pairs":                     {text: objects("[", ",", "]", `[%d,"%.2f"]`)},
		"JSON, a list a column":           {text: `{"time_s":[` + objects("", ",", "", "%[1]d") + `],"rate":[` + objects("", ",", "", "%.2[2]f") + "]}"},
		"ISO times":                       {text: lines("time_s,rate\n", date("2026-11-21T08:%02d:%02dZ,%.2f\n"))},
		"ISO times with a space":          {text: lines("time_s,rate\n", date("2026-11-21 08:%02d:%02d.000,%.2f\n"))},
		"ISO times, a comma for a point":  {text: lines("time_s;rate\n", date("2026-11-21 08:%02d:%02d,000;%.2f\n"))},
		"German dates":                    {text: lines("time_s;rate\n", date("21.11.2026 08:%02d:%02d;%.2f\n"))},
		"times of day":                    {text: lines("time_s,rate\n", date("08:%02d:%02d,%.2f\n"))},
		"milliseconds since 1970":         {text: lines("time_s,rate\n", func(i int) string { return fmt.Sprintf("%d,%.2f\n", 1_711_846_740_000+1000*i, wave(i)) })},
		"other names":                     {text: strings.Replace(plain, "time_s,rate", "When,op/s", 1), as: Columns{Time: "When", Rate: "op/s"}},
		"another column is called rate":   {text: lines("time_s,rate,real\n", func(i int) string { return fmt.Sprintf("%d,7,%.2f\n", i+1, wave(i)) }), as: Columns{Rate: "real"}},
		"no times":                        {text: lines("rate,x\n", func(i int) string { return fmt.Sprintf("%.2f,1\n", wave(i)) }), as: Columns{Every: 1}},
		"a clock that goes back, by line": {text: lines("time_s,rate\n", func(i int) string { return fmt.Sprintf("%d,%.2f\n", i%20, wave(i)) }), as: Columns{Every: 1}},
		"a last line in the same second":  {text: plain + fmt.Sprintf("%d,3\n", n)},
		"each second twice": {text: lines("time_s,rate\n", func(i int) string {
			return fmt.Sprintf("%d,%.2f\n%d,%.2f\n", i+1, wave(i)-50, i+1, wave(i)+50)
		})},
	} {
		s, _, err := Read(strings.NewReader(c.text), c.as)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(s.Ends) != n || s.Begin != 0 {
			t.Errorf("%s: %d samples from %v", name, len(s.Ends), s.Begin)
			continue
		}
		for i := range n {
			if math.Abs(s.Rates[i]-wave(i)) > 0.01 || math.Abs(s.Ends[i]-float64(i+1)) > 1e-4 {
				t.Errorf("%s: sample %d is %v at %v, want %v", name, i, s.Rates[i], s.Ends[i], wave(i))
				break
			}
		}
	}
}

// What counts since the start is recognised by its values, and taken apart where that is asked.
func TestRead_columns_since_the_start(t *testing.T) {
	names := "time_s,count,mean_rate,hit_rate,m1_rate\n"
	text, total := strings.Builder{}, 0.0
	for i := range 60 {
		rate := wave(i)
		if i >= 30 {
			rate /= 2
		}
		total += rate
		fmt.Fprintf(&text, "%d,%.1f,%.3f,%.3f,%.1f\n", i+1, total, total/float64(i+1), 0.9+float64(i%7)/100, rate)
	}
	_, _, err := Read(strings.NewReader(names+text.String()), Columns{})
	for _, says := range []string{`"count" only grows`, `"mean_rate" looks like a mean since the start`, "if that is it: --rate-column m1_rate"} {
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v\nlacks %q", err, says)
		}
	}
	for _, c := range []struct{ column, as string }{{"count", Count}, {"mean_rate", Mean}} {
		plain, notes, err := Read(strings.NewReader(names+text.String()), Columns{Rate: c.column})
		if err != nil || !strings.Contains(strings.Join(notes, "\n"), "--differences "+c.as) {
			t.Errorf("%s as it is: notes %q, %v", c.column, notes, err)
		}
		if shape := series.Analyze(plain); shape.Cliff() != nil {
			t.Errorf("%s as it is has a cliff", c.column)
		}
		s, _, err := Read(strings.NewReader(names+text.String()), Columns{Rate: c.column, Differences: c.as})
		if err != nil {
			t.Fatal(err)
		}
		if shape := series.Analyze(s); shape.Cliff() == nil || shape.Cliff().From != 30 {
			t.Errorf("differences of %s: %+v", c.column, shape.Events)
		}
	}
	// A counter that begins again loses one sample.
	again := "time_s,rate\n1,100\n2,200\n3,50\n4,150\n"
	s, notes, err := Read(strings.NewReader(again), Columns{Differences: Count})
	if nan := math.NaN(); err != nil || !same(s.Rates, []float64{nan, 100, nan, 100}) || !strings.Contains(strings.Join(notes, "\n"), "fell at 1 line") {
		t.Errorf("%v, %q, %v", s.Rates, notes, err)
	}
	// Rates with little noise, declines and quiet ends are no means.
	for name, rate := range map[string]func(i int) float64{
		"alike":    func(i int) float64 { return 1e5 + float64(i*7919%100) },
		"declines": func(i int) float64 { return 1e5 - 500*float64(i) + float64(i*7919%100) },
		"falls":    func(i int) float64 { return 1e5/float64(1+i/30) + float64(i*7919%100) },
	} {
		var text strings.Builder
		for i := range 60 {
			fmt.Fprintf(&text, "%d,%.1f\n", i+1, rate(i))
		}
		if _, notes, err := Read(strings.NewReader("time_s,rate\n"+text.String()), Columns{}); err != nil || len(notes) != 0 {
			t.Errorf("%s: %q, %v", name, notes, err)
		}
	}
}

// Files of other programs, as they were found.
func TestRead_files(t *testing.T) {
	for name, want := range map[string]string{
		"mean-since-start.csv": "--rate-column m1_rate",
		"total-ops.csv":        "--rate-column op/s",
		"prometheus.json":      "", "utf16.csv": "", "carriage-returns.csv": "", "decimal-comma.csv": "", "thousands.csv": "",
	} {
		file, err := os.Open("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		s, _, err := Read(file, Columns{})
		if want != "" {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v; want %q", name, err, want)
			}
			continue
		}
		if err != nil || len(s.Rates) < 100 || s.Rates[0] < 990 {
			t.Errorf("%s: %d samples, %v", name, len(s.Rates), err)
		}
	}
}
