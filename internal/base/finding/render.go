package finding

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/template"

	"assay/internal/base/format"
)

// Text returns the sentence of a message: of one that [Together] made, that for many. A code
// without an entry, or a message without a parameter that the sentence needs, gives the code and
// the parameters as they are, so that nothing is lost.
func Text(m Message) string {
	if _, many := m.Params["Count"]; many {
		return render(m, "many", func(e Entry) string { return e.Many })
	}
	return render(m, "says", func(e Entry) string { return e.Says })
}

// Remedy returns what to do about it; "" for nothing.
func Remedy(m Message) string { return render(m, "remedy", func(e Entry) string { return e.Remedy }) }

// Group returns the sentence for several findings of one code: see [Together].
func Group(findings []Finding, all []string) string {
	if len(findings) == 0 {
		return ""
	}
	return Text(Together(findings, all))
}

// everyTable stands for the places of all tables, where there are so many that a list tells less.
const (
	everyTable    = "every table"
	everyTableMin = 3
)

// Together folds findings of one code into a message whose sentence is the entry's Many; of a
// single one, or where the entry has no Many, it is the first one's message. all are the places of all
// tables.
func Together(findings []Finding, all []string) Message {
	first := findings[0].Message
	if entry := entries[first.Code]; len(findings) == 1 || entry.Many == "" {
		return first
	}
	together := Params{"Count": len(findings)}
	var arms, places, pairs, trials []string
	numbers, words := map[string][]float64{}, map[string][]string{}
	for _, f := range findings {
		arms, places = append(arms, f.Where.Arm), append(places, place(f))
		pairs = append(pairs, f.Where.Arm+"\n"+place(f))
		for _, e := range f.Evidence {
			trials = append(trials, e.Trial)
		}
		for name, value := range f.Params {
			together[name] = value
			if v, ok := number(value); ok {
				numbers[name] = append(numbers[name], v)
			}
			if word, ok := value.(string); ok {
				words[name] = append(words[name], word)
			}
		}
	}
	for name, values := range numbers {
		together["min_"+name], together["max_"+name] = slices.Min(values), slices.Max(values)
	}
	for name, all := range words {
		together["all_"+name] = distinct(all)
	}
	places = distinct(places)
	tables := distinct(all)
	everyArm := len(distinct(pairs)) == len(tables)*max(len(distinct(arms)), 1) // is in each of its places
	everywhere := len(tables) >= everyTableMin && everyArm && slices.Equal(tables, places)
	slices.SortStableFunc(places, func(a, b string) int { return slices.Index(all, a) - slices.Index(all, b) })
	together["Arms"], together["Places"], together["Trials"] = distinct(arms), places, distinct(trials)
	if everywhere {
		together["Places"] = []string{everyTable}
	}
	return Message{first.Code, together}
}

// togetherIn names the places of a phase and class once: "put (D3, 1 thread)" and "put (D3, 2 threads)" are
// "put (D3; 1 and 2 threads)". A place without a cell stays.
func togetherIn(places []string) (together []string) {
	var groups [][]string // what places begin with, then their labels
	for _, p := range places {
		_, inside, found := strings.Cut(p, " (")
		class, label, parted := strings.Cut(inside, ", ")
		if !found || !parted || !strings.HasSuffix(p, ")") {
			groups = append(groups, []string{p})
			continue
		}
		begin := strings.TrimSuffix(p, inside) + class
		at := slices.IndexFunc(groups, func(g []string) bool { return len(g) > 1 && g[0] == begin })
		if at < 0 {
			at, groups = len(groups), append(groups, []string{begin})
		}
		groups[at] = append(groups[at], strings.TrimSuffix(label, ")"))
	}
	for _, g := range groups {
		switch len(g) {
		case 1:
			together = append(together, g[0])
		case 2:
			together = append(together, g[0]+", "+g[1]+")")
		default:
			together = append(together, g[0]+"; "+format.Labels(g[1:])+")")
		}
	}
	return together
}

func place(f Finding) string {
	if text, ok := f.Params["place"].(string); ok {
		return text
	}
	return strings.TrimSpace(f.Where.Phase + " " + f.Where.Class)
}

func distinct(words []string) []string {
	words = slices.DeleteFunc(slices.Clone(words), func(w string) bool { return w == "" })
	slices.Sort(words)
	return slices.Compact(words)
}

var parsed sync.Map // part + code → *template.Template

func render(m Message, part string, of func(Entry) string) string {
	entry, known := entries[m.Code]
	if !known {
		return bare(m)
	}
	source := of(entry)
	if !strings.Contains(source, "{{") {
		return source
	}
	key := part + " " + string(m.Code)
	compiled, ok := parsed.Load(key)
	if !ok {
		t, err := template.New(key).Funcs(functions()).Parse(source)
		if err != nil {
			panic(err) // a template of this package; the golden test parses each
		}
		compiled, _ = parsed.LoadOrStore(key, t)
	}
	var out strings.Builder
	err := compiled.(*template.Template).Execute(&out, map[string]any(m.Params))
	if text := out.String(); err == nil && !strings.Contains(text, "<no value>") {
		return text
	}
	return bare(m)
}

// bare writes a message that has no words.
func bare(m Message) string {
	params, err := json.Marshal(m.Params)
	if err != nil || len(m.Params) == 0 {
		return string(m.Code)
	}
	return fmt.Sprintf("%s %s", m.Code, params)
}

// functions are what sentences may call. Numbers may have come back from JSON as float64.
func functions() template.FuncMap {
	return template.FuncMap{
		"rate":     of(format.Rate),
		"bytes":    of(format.Bytes),
		"limit":    of(func(v float64) string { return format.Limit(uint64(v)) }),
		"latency":  of(format.Latency), // of ns
		"seconds":  of(format.Seconds),
		"moment":   of(format.Moment),
		"percent":  of(format.Percent), // of a share
		"factor":   of(format.Factor),
		"quantile": of(format.Quantile),                                                    // 0.99: p99
		"points":   of(func(v float64) string { return format.Tenths(100*v) + " points" }), // of shares, one less the other
		"speed":    of(func(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }),
		"number":   of(format.Number),
		"tenths":   of(format.Tenths),
		"count":    of(func(v float64) string { return format.Count(uint64(max(v, 0))) }),
		"interval": func(low, high any) (string, error) { return two(format.Interval, low, high) },
		"counts":   wholeRange,
		"shares":   shareRange,
		"plural": func(n any, one, many string) (string, error) {
			v, ok := number(n)
			if !ok {
				return "", fmt.Errorf("%v is no number", n)
			}
			return format.Plural(int(v), one, many), nil
		},
		"clean":  func(v any) string { return format.Clean(fmt.Sprint(v)) },
		"list":   func(words any) string { return format.ListMax(texts(words), listMax) },
		"places": func(places any) string { return format.ListMax(togetherIn(texts(places)), listMax) },
		"say":    func(said any) string { return strings.TrimSuffix(strings.Join(texts(said), " "), ".") },
		"join":   func(words any) string { return strings.Join(texts(words), ", ") },
		"each":   eachOf,
		"agree": func(words any, one, many string) string {
			if len(texts(words)) == 1 {
				return one
			}
			return many
		},
		"capital": func(text string) string {
			if text == "" {
				return ""
			}
			return strings.ToUpper(text[:1]) + text[1:]
		},
		"change": func(before, after float64) string {
			verb := "rose"
			if after < before {
				verb = "fell"
			}
			return verb + " by " + format.Percent(math.Abs(after/before-1))
		},
		"figure": format.Figure, // of a metric
		"span":   func(low, high any) (string, error) { return two(span, low, high) },
		"has":    func(v any) bool { return v != nil && v != false },
	}
}

// eachOf lists names with a number of records each.
func eachOf(words, records any) string {
	names := slices.Clone(texts(words))
	var numbers []float64
	switch v := records.(type) {
	case []float64:
		numbers = v
	case []any: // of JSON
		for _, of := range v {
			n, _ := number(of)
			numbers = append(numbers, n)
		}
	}
	for i := range names {
		if i < len(numbers) {
			names[i] = fmt.Sprintf("%s (%s records)", names[i], format.Number(numbers[i]))
		}
	}
	return format.ListMax(names, listMax)
}

// listMax is how many names a sentence bears.
const listMax = 4

func of(write func(float64) string) func(any) (string, error) {
	return func(v any) (string, error) {
		n, ok := number(v)
		if !ok {
			return "", fmt.Errorf("%v is no number", v)
		}
		return write(n), nil
	}
}

func two(write func(a, b float64) string, a, b any) (string, error) {
	x, okX := number(a)
	y, okY := number(b)
	if !okX || !okY {
		return "", fmt.Errorf("%v or %v is no number", a, b)
	}
	return write(x, y), nil
}

// span writes two numbers, or one where both are written alike.
func span(low, high float64) string {
	if format.Number(low) == format.Number(high) {
		return format.Number(low)
	}
	return format.Number(low) + " to " + format.Number(high)
}

func number(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case *float64:
		if v != nil {
			return *v, true
		}
	case int:
		return float64(v), true
	case int64:
		return float64(v), true
	case uint64:
		return float64(v), true
	}
	return 0, false
}

// wholeRange writes a count of which the least and perhaps the most are known.
func wholeRange(least, most any) (string, error) {
	low, ok := number(least)
	if !ok {
		return "", fmt.Errorf("%v is no number", least)
	}
	high, bounded := number(most)
	switch {
	case !bounded:
		return "at least " + format.Count(uint64(low)), nil
	case low == high:
		return format.Count(uint64(low)), nil
	}
	return format.Count(uint64(low)) + " to " + format.Count(uint64(high)), nil
}

// shareRange writes a share between two bounds, as one number where they round to the same.
func shareRange(least, most any) (string, error) {
	low, okLow := number(least)
	high, okHigh := number(most)
	if !okLow || !okHigh {
		return "", fmt.Errorf("%v or %v is no number", least, most)
	}
	if format.Percent(low) == format.Percent(high) {
		return format.Percent(low), nil
	}
	return strings.TrimSuffix(format.Percent(low), " %") + " to " + format.Percent(high), nil
}

// texts returns the words of a parameter, and the sentences of one that is messages.
func texts(v any) (words []string) {
	switch v := v.(type) {
	case []string:
		return v
	case []any: // of JSON
		for _, w := range v {
			words = append(words, texts(w)...)
		}
	case string:
		words = []string{v}
	case Message:
		words = []string{Text(v)}
	case []Message:
		for _, m := range v {
			words = append(words, Text(m))
		}
	case map[string]any: // a message of JSON
		words = texts(v["text"])
	}
	return words
}

// Sort orders findings gravest first and otherwise keeps their order.
func Sort(findings []Finding) {
	slices.SortStableFunc(findings, func(a, b Finding) int {
		return Compare(a.Severity, b.Severity)
	})
}

// Compare orders severities, gravest first.
func Compare(a, b Severity) int {
	return cmp.Compare(slices.Index(Severities, a), slices.Index(Severities, b))
}

// Gravest returns the graver of two severities.
func Gravest(a, b Severity) Severity {
	if Compare(b, a) < 0 {
		return b
	}
	return a
}
