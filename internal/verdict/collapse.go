package verdict

import (
	"fmt"
	"math"
	"strings"

	"assay/internal/stat"
)

// Analysis is what can be said of a rate over time, in words. The same is made of a trial's samples and of anybody's CSV file.
type Analysis struct {
	Sentences []string `json:"sentences"` // never empty
	Marks     []Mark   `json:"marks,omitempty"`
	Segments  []Level  `json:"segments,omitempty"`
	stat.Course

	quarters []Level // the first and the last, where they lie apart: see Sunken
}

// Mark is something to draw at a time of a series.
type Mark struct {
	At      float64  `json:"t"`                 // seconds, on the series' clock
	Until   float64  `json:"until,omitempty"`   // 0: an instant
	Kind    string   `json:"kind"`              // cliff, stall, dips, spikes, decline, oscillation, or change (of level)
	Text    string   `json:"text"`              // a sentence
	Records *float64 `json:"records,omitempty"` // stored at that time; nil: not measured
}

// Level is a stretch at one level.
type Level struct {
	From    float64  `json:"from_s"`
	To      float64  `json:"to_s"`
	Rate    float64  `json:"rate"`
	Records *float64 `json:"records,omitempty"` // stored at its end; nil: not measured
	Bytes   *float64 `json:"bytes,omitempty"`
}

// Analyze describes a series (stat.Describe) and puts it into words.
func Analyze(s stat.Series) Analysis {
	a := Analysis{Course: stat.Describe(s)}
	for _, segment := range a.Levels.Segments {
		a.Segments = append(a.Segments, Level{From: beginning(s, segment.From), To: s.Ends[segment.To-1], Rate: segment.Rate,
			Records: measured(s.Records, segment.To-1), Bytes: measured(s.Bytes, segment.To-1)})
	}
	a.quarters = quarters(s)
	say := func(sentence string) { a.Sentences = append(a.Sentences, sentence) }
	mark := func(m Mark) { a.Marks = append(a.Marks, m) }
	for i, cliff := range a.Cliffs {
		text := a.cliffText(s, i)
		say(text)
		mark(Mark{At: cliff.Seconds, Kind: "cliff", Text: text, Records: cliff.Records})
		for _, with := range a.Coincidences {
			if with.Kind == stat.WithCliff && with.Cliff == i {
				say("This coincides with " + withFallText(s, with, cliff.Seconds))
			}
		}
	}
	for i, decline := range a.Declines {
		text := declineText(s, decline)
		say(text)
		for _, with := range a.Coincidences {
			if with.Kind == stat.WithStep && with.Decline == i {
				say("Its steepest step coincides with " + withFallText(s, with, beginning(s, decline.Steepest.At)))
			}
		}
		mark(Mark{At: beginning(s, decline.From), Until: s.Ends[decline.To-1], Kind: "decline", Text: text, Records: measured(s.Records, decline.From-1)})
	}
	for _, alternation := range a.Alternations {
		text := alternationText(s, alternation)
		say(text)
		mark(Mark{At: beginning(s, alternation.From), Until: s.Ends[alternation.To-1], Kind: "oscillation", Text: text, Records: measured(s.Records, alternation.From-1)})
	}
	if text := a.shapeText(s); text != "" {
		say(text)
	}
	if sunken := a.Sunken(); sunken != nil && a.Has(stat.ShapeTooShort) {
		say("It sank all the same: " + sunken.Text + ".")
	}
	for _, found := range []struct {
		kind string
		dips *stat.Dips
		text func(stat.Series, stat.Dips) string
	}{{"dips", a.Dips, dipsText}, {"spikes", a.Spikes, spikesText}} {
		if found.dips == nil {
			continue
		}
		text, last := found.text(s, *found.dips), found.dips.Events[len(found.dips.Events)-1]
		say(text)
		from := found.dips.Events[0].From
		mark(Mark{At: beginning(s, from), Until: s.Ends[last.To-1], Kind: found.kind, Text: text, Records: measured(s.Records, from-1)})
	}
	if len(a.Stalls) > 0 {
		say(a.stallsText(s))
	}
	for _, stall := range a.Stalls {
		mark(Mark{At: beginning(s, stall.From), Until: s.Ends[stall.To-1], Kind: "stall",
			Text: fmt.Sprintf("It stalled: down to %s.", rate(stall.Lowest)), Records: measured(s.Records, stall.From-1)})
	}
	if a.Has(stat.ShapeStepped) {
		for i, level := range a.Segments[1:] {
			mark(Mark{At: level.From, Kind: "change", Text: fmt.Sprintf("%s before, %s after.", rate(a.Segments[i].Rate), rate(level.Rate)), Records: a.Segments[i].Records})
		}
	}
	for _, with := range a.Coincidences {
		if with.Kind == stat.WithRate {
			say(withRateText(with))
		}
	}
	if n := len(s.Resources); n > 0 && len(a.Coincidences) == 0 && !a.Has(stat.ShapeTooShort) {
		none := fmt.Sprintf("None of %d resources is", n)
		if n == 1 {
			none = "The one resource is not"
		}
		say(none + " shown to change or move with it.")
	}
	return a
}

func beginning(s stat.Series, i int) float64 {
	if i == 0 {
		return s.Begin
	}
	return s.Ends[i-1]
}

// measured returns a column's value at the end of sample i; nil: not measured.
func measured(values []float64, i int) *float64 {
	if i < 0 || len(values) == 0 || math.IsNaN(values[i]) {
		return nil
	}
	return &values[i]
}

// cliffText: "The rate fell off a cliff at 30.0 s (29.0 to 31.0 s), at 3,712,450 records: from 124 k/s to 26.0 k/s, by 79 %
// (69 to 86 %), and it lasted to the end, 13.0 s later." Of one that took some samples: "The rate fell between 30.0 s and 38.0 s, at …".
func (a *Analysis) cliffText(s stat.Series, i int) string {
	c, clock := a.Cliffs[i], clockOf(s)
	var b strings.Builder
	if c.Gradual() {
		fmt.Fprintf(&b, "The rate fell between %s and %s", clock.seconds(c.SecondsInterval.Low), clock.seconds(c.SecondsInterval.High))
	} else {
		fmt.Fprintf(&b, "The rate fell off a cliff at %s (%s to %s)", clock.seconds(c.Seconds), clock.number(c.SecondsInterval.Low), clock.seconds(c.SecondsInterval.High))
	}
	var stored []string
	if c.Records != nil {
		stored = append(stored, recordsText(*c.Records, *c.RecordsInterval))
	}
	if c.Bytes != nil {
		stored = append(stored, size(*c.Bytes))
	}
	if len(stored) > 0 {
		fmt.Fprintf(&b, ", at %s", list(stored))
	}
	fmt.Fprintf(&b, ": from %s to %s, by %s (%s to %s), and it lasted ", rate(c.Before), rate(c.After),
		percent(1-c.Left), percent(max(1-c.LeftInterval.High, 0)), percent(1-c.LeftInterval.Low))
	end, until := s.Ends[len(s.Ends)-1], "until the next one"
	if i < len(a.Cliffs)-1 {
		end = a.Cliffs[i+1].Seconds
	}
	switch {
	case c.Back != nil:
		back, over := beginning(s, c.Back.From), s.Ends[c.Back.To-1]
		until = clock.seconds(back-c.Seconds) + "; from " + clock.seconds(back)
		if over < end {
			until += " to " + clock.seconds(over) + " it is back at " + rate(c.Back.Rate)
		} else {
			until += " on it is back at " + rate(c.Back.Rate)
		}
	case i == len(a.Cliffs)-1:
		until = fmt.Sprintf("to the end, %s later", clock.seconds(end-c.Seconds))
	}
	return b.String() + until + "."
}

func withFallText(s stat.Series, w stat.Coincidence, fallSeconds float64) string {
	moved := "rose"
	if w.After < w.Before {
		moved = "fell"
	}
	per := ""
	if w.PerSecond {
		per = " a second"
	}
	how := "its only change of level"
	switch {
	case w.Onset && w.Changes > 1:
		how = fmt.Sprintf("it was next to nothing before; an onset comes this near by chance in %s of such series", percent(w.Chance))
	case w.Changes > 1:
		how = fmt.Sprintf("one of its %d changes of level, of which one comes this near by chance in %s of such series", w.Changes, percent(w.Chance))
	}
	when, clock := "at the same time", clockOf(s)
	switch away := w.Seconds - fallSeconds; {
	case away >= clock.step/2:
		when = clock.seconds(away) + " later"
	case away <= -clock.step/2:
		when = clock.seconds(-away) + " before"
	}
	return fmt.Sprintf("%s, which %s from %s to %s%s %s: %s.", named(w), moved, scaled(w.Before, 1000, "", " k", " M", " G", " T"), scaled(w.After, 1000, "", " k", " M", " G", " T"), per, when, how)
}

func withRateText(w stat.Coincidence) string {
	way := "rises and falls with the rate"
	if w.Rank < 0 {
		way = "rises as the rate falls"
	}
	return fmt.Sprintf("Within the stretches, trends apart, %s %s (rank correlation %+.2f, p %s): they coincide, and which brings which is not told.", named(w), way, w.Rank, chance(w.P))
}

func named(w stat.Coincidence) string {
	if w.Engine {
		return "the store's own " + w.Resource
	}
	return w.Resource
}

func declineText(s stat.Series, d stat.Decline) string {
	var b strings.Builder
	clock := clockOf(s)
	fmt.Fprintf(&b, "From %s to %s the rate declines, from %s at %s to %s", clock.seconds(beginning(s, d.From)), clock.seconds(s.Ends[d.To-1]), rate(d.Early), clock.seconds(d.EarlyAt), rate(d.End))
	on := clock.seconds
	switch d.Basis {
	case stat.OverRecords:
		on = func(v float64) string { return amount(v) + " records" }
		b.WriteString(", as records pile up")
	case stat.OverBytes:
		on = size
		b.WriteString(", as data piles up")
	}
	if d.HalfAt != nil {
		verb := "half of that first rate is left at"
		if d.Extrapolated {
			verb = "if it goes on, half of that first rate will be left at"
		}
		fmt.Fprintf(&b, "; %s %s", verb, on(*d.HalfAt))
		if d.HalfInterval != nil {
			fmt.Fprintf(&b, " (%s to %s)", on(d.HalfInterval.Low), on(d.HalfInterval.High))
		}
	}
	b.WriteString(". ")
	switch {
	case d.Steepest != nil:
		fmt.Fprintf(&b, "It falls from level to level, most steeply at %s%s, from %s to %s; no line fits.", clock.seconds(beginning(s, d.Steepest.At)), storedText(s, d.Steepest.At-1),
			rate(d.Steepest.Before), rate(d.Steepest.After))
	case d.Form == stat.NoForm:
		b.WriteString("It falls from level to level; no line fits.")
	case d.SlopeForm == stat.LogLog:
		fmt.Fprintf(&b, "Each doubling of the %s takes %s off it (slope of log rate on log %s %.3g, %.3g to %.3g)", d.Basis, percent(-math.Expm1(d.Slope*math.Ln2)), d.Basis, d.Slope, d.SlopeInterval.Low, d.SlopeInterval.High)
	default:
		fmt.Fprintf(&b, "The slope of log rate on %s is %.3g (%.3g to %.3g)", d.Basis, d.Slope, d.SlopeInterval.Low, d.SlopeInterval.High)
	}
	switch other := map[stat.Form]string{stat.LogLog: "log-lin", stat.LogLin: "log-log"}[d.SlopeForm]; {
	case d.Form == stat.NoForm:
	case d.Form == stat.Unclear:
		fmt.Fprintf(&b, "; a %s line fits about as well.", other)
	default:
		fmt.Fprintf(&b, "; a %s line fits worse.", other)
	}
	return b.String()
}

// storedText: ", at 3.36 M records and 215 MB", what was stored at the end of sample i; "" if nothing was measured.
func storedText(s stat.Series, i int) string {
	var stored []string
	if records := measured(s.Records, i); records != nil {
		stored = append(stored, amount(*records)+" records")
	}
	if bytes := measured(s.Bytes, i); bytes != nil {
		stored = append(stored, size(*bytes))
	}
	if len(stored) == 0 {
		return ""
	}
	return ", at " + list(stored)
}

func alternationText(s stat.Series, a stat.Alternation) string {
	clock := clockOf(s)
	text := fmt.Sprintf("From %s to %s it goes to and fro between two levels, %s (%s of the time) and %s (%s), with %d switches and stays of about %s and %s",
		clock.seconds(beginning(s, a.From)), clock.seconds(s.Ends[a.To-1]), rate(a.High), percent(a.HighShare), rate(a.Low), percent(a.LowShare), a.Switches,
		clock.seconds(a.HighVisit), clock.seconds(a.LowVisit))
	if a.Period != nil {
		text += ", " + periodText(*a.Period) + "."
	} else {
		text += "; no regular period is shown."
	}
	var outside []string
	if a.Before != nil {
		outside = append(outside, fmt.Sprintf("from %s to %s it is %s", clock.seconds(beginning(s, a.Before.From)), clock.seconds(s.Ends[a.Before.To-1]), rate(a.Before.Rate)))
	}
	if a.After != nil {
		outside = append(outside, fmt.Sprintf("from %s to %s it is %s", clock.seconds(beginning(s, a.After.From)), clock.seconds(s.Ends[a.After.To-1]), rate(a.After.Rate)))
	}
	if len(outside) > 0 {
		text += " Outside of this it does not: " + list(outside) + " on average."
	}
	return text
}

func periodText(p stat.Period) string {
	clock := clockOfPeriod(p.Seconds)
	return fmt.Sprintf("every %s (%s to %s, p %s)", clock.seconds(p.Seconds), clock.number(p.Interval.Low), clock.seconds(p.Interval.High), chance(p.P))
}

// stallsText: "It stalled 3 times, first at 11.0 s, longest from 50.0 s to 58.0 s, below a tenth of …".
func (a *Analysis) stallsText(s stat.Series) string {
	clock, lasted := clockOf(s), func(stall stat.Stall) float64 { return s.Ends[stall.To-1] - beginning(s, stall.From) }
	longest, lowest, ended, usual := a.Stalls[0], math.Inf(1), true, 0.0
	for _, stall := range a.Stalls {
		if lasted(stall) > lasted(longest) {
			longest = stall
		}
		lowest = math.Min(lowest, stall.Lowest)
		usual = math.Max(usual, stall.Usual)
		ended = ended && stall.Recovered
	}
	often, when := "once", ""
	if len(a.Stalls) > 1 {
		often, when = fmt.Sprintf("%d times", len(a.Stalls)), fmt.Sprintf("first at %s, longest ", clock.seconds(beginning(s, a.Stalls[0].From)))
	}
	text := fmt.Sprintf("It stalled %s, %sfrom %s to %s, below a tenth of the usual %s (lowest %s)", often, when,
		clock.seconds(beginning(s, longest.From)), clock.seconds(s.Ends[longest.To-1]), rate(usual), rate(lowest))
	switch {
	case ended:
		text += ", and recovered"
	case len(a.Stalls) == 1:
		text += ", and had not recovered at the end"
	default:
		text += ", and had not recovered from the last one at the end"
	}
	switch {
	case a.StallPeriod != nil:
		text += "; " + periodText(*a.StallPeriod)
	case len(a.Stalls) >= 5:
		text += "; no regular period is shown"
	}
	return text + "."
}

// dipsText: "It dips 93 times between 797 s and 3597 s, for 5.00 s at the median, to 40 % of what is usual around (lowest 60.7 k/s), in all 9.3 % of the time; every …".
func dipsText(s stat.Series, d stat.Dips) string {
	clock, lowest := clockOf(s), math.Inf(1)
	for _, dip := range d.Events {
		lowest = math.Min(lowest, dip.Lowest)
	}
	first, last := d.Events[0], d.Events[len(d.Events)-1]
	if len(d.Events) == 1 {
		return fmt.Sprintf("It dips once, from %s to %s, to %s of the usual %s (lowest %s), and came back.",
			clock.seconds(beginning(s, first.From)), clock.seconds(s.Ends[first.To-1]), percent(d.Left), rate(first.Usual), rate(lowest))
	}
	text := fmt.Sprintf("It dips %d times between %s and %s, for %s at the median, to %s of what is usual around (lowest %s), in all %s of the time, and comes back",
		len(d.Events), clock.seconds(beginning(s, first.From)), clock.seconds(s.Ends[last.To-1]), clock.seconds(d.Seconds), percent(d.Left), rate(lowest), percent(d.Share))
	return text + rhythmText(d) + "."
}

// rhythmText says whether dips or spikes are regular; "" where they are too few to tell.
func rhythmText(d stat.Dips) string {
	switch {
	case d.Period != nil:
		return "; " + periodText(*d.Period)
	case len(d.Events) >= 5:
		return "; no regular period is shown"
	}
	return ""
}

// spikesText: "It spikes 20 times between 4.00 s and 576 s, for 2.00 s at the median, to 100 times what is usual around (highest 108 k/s), in all 6.7 % of the time; every …".
func spikesText(s stat.Series, d stat.Dips) string {
	clock, highest := clockOf(s), 0.0
	for _, spike := range d.Events {
		highest = math.Max(highest, spike.Highest)
	}
	first, last := d.Events[0], d.Events[len(d.Events)-1]
	from, times := clock.seconds(beginning(s, first.From)), timesText(d.Left)
	switch {
	case len(d.Events) > 1:
		return fmt.Sprintf("It spikes %d times between %s and %s, for %s at the median, to %s what is usual around (highest %s), in all %s of the time, and comes back%s.",
			len(d.Events), from, clock.seconds(s.Ends[last.To-1]), clock.seconds(d.Seconds), times, rate(highest), percent(d.Share), rhythmText(d))
	case first.To == first.From+1:
		return fmt.Sprintf("One sample, from %s to %s, has %s the usual %s (%s).", from, clock.seconds(s.Ends[first.From]), times, rate(first.Usual), rate(highest))
	}
	return fmt.Sprintf("It spikes once, from %s to %s, to %s the usual %s (highest %s), and came back.",
		from, clock.seconds(s.Ends[first.To-1]), times, rate(first.Usual), rate(highest))
}

// timesText: "1.52 times", "20 times".
func timesText(factor float64) string {
	if factor < 9.95 {
		return fmt.Sprintf("%.2g times", factor)
	}
	return fmt.Sprintf("%.0f times", factor)
}

// shapeText speaks of what has no sentence of its own.
func (a *Analysis) shapeText(s stat.Series) string {
	switch {
	case a.Has(stat.ShapeSteady):
		return a.steadyText(s)
	case a.LastFall != nil:
		return fmt.Sprintf("The rate fell at %s, from %s to %s, for the last %s: too few to tell a cliff from a stall. %s", clockOf(s).seconds(beginning(s, a.LastFall.From)),
			rate(a.SteadyRate), rate(a.LastFall.Rate), plural(a.LastFall.Samples(), "sample", "samples"), a.steadyText(s))
	case a.Has(stat.ShapeTooShort):
		return fmt.Sprintf("Nobody can tell from this: %s.", a.Why)
	case a.Swing != nil:
		return fmt.Sprintf("The rate swings: it falls below its middle %s, and has %s.", periodText(*a.Swing), a.Why)
	case a.Has(stat.ShapeStepped):
		stretch := "The"
		if besides := a.besides(); besides != "" {
			stretch = "Between its " + besides + " the"
		}
		return fmt.Sprintf("%s rate is not steady, and none of its falls is a cliff: it has %s.", stretch, a.levelsText(s))
	case a.Has(stat.ShapeRise):
		return fmt.Sprintf("The rate rises: %s.", a.Why)
	case a.Has(stat.ShapeWandering):
		return fmt.Sprintf("The rate wanders: it moves from sample to sample as a random walk does, so that its levels and slopes mean little (%s).", a.Why)
	}
	return ""
}

// besides names what was taken out before levels were looked for; "": nothing.
func (a *Analysis) besides() string {
	var found []string
	if a.Dips != nil {
		found = append(found, "dips")
	}
	if a.Spikes != nil {
		found = append(found, "spikes")
	}
	return list(found)
}

// levelsTold is how many levels are told one by one: "100 k/s until 40.0 s, then 40.2 k/s until 70.0 s, then 99.5 k/s". More are in the table.
const levelsTold = 3

func (a *Analysis) levelsText(s stat.Series) string {
	if n := len(a.Segments); n < 2 || n > levelsTold {
		return a.Why
	}
	clock := clockOf(s)
	var b strings.Builder
	for i, level := range a.Segments {
		if i > 0 {
			fmt.Fprintf(&b, " until %s, then ", clock.seconds(level.From))
		}
		b.WriteString(rate(level.Rate))
	}
	return b.String()
}

// steadyText speaks of a steady rate. Its warm-up, and a fall at its end, have no part in its figures.
func (a *Analysis) steadyText(s stat.Series) string {
	stretch, before, average, besides := "The rate is steady", "", "on average", a.besides()
	if besides != "" {
		stretch, average = "But for its "+besides+" the rate is steady", "on average with them"
	}
	switch {
	case a.LastFall != nil && besides != "":
		stretch = "Until then it is steady, but for its " + besides + ","
	case a.LastFall != nil:
		stretch = "Until then it is steady"
	}
	if a.SteadyFrom > 0 {
		begin := clockOf(s).seconds(beginning(s, a.SteadyFrom))
		stretch += " from " + begin + " on"
		if warmup := meanRate(s, a.SteadyFrom); math.Abs(warmup-a.SteadyRate) > stat.SteadyTolerance*a.SteadyRate {
			before = fmt.Sprintf(" Before %s it was %s on average.", begin, rate(warmup))
		}
	}
	return fmt.Sprintf("%s, %s %s, nine samples in ten from %s to %s: %s.%s",
		stretch, rate(a.SteadyRate), average, rate(a.SteadySpread.Low), rate(a.SteadySpread.High), a.Why, before)
}

// meanRate is that of the first n samples.
func meanRate(s stat.Series, n int) float64 {
	done := 0.0
	for i := range n {
		done += s.Rates[i] * (s.Ends[i] - beginning(s, i))
	}
	return done / (s.Ends[n-1] - s.Begin)
}

// amount writes a number of records: in full below a million, else with three digits.
func amount(v float64) string {
	if math.Abs(v) < 1e6 {
		return count(uint64(math.Max(math.Round(v), 0)))
	}
	return scaled(v, 1000, "", " k", " M", " G")
}

// recordsText writes a number of records with its interval, in full where three digits don't tell its ends apart.
func recordsText(records float64, interval stat.Interval) string {
	write := amount
	if interval.Low < interval.High && amount(interval.Low) == amount(interval.High) {
		write = func(v float64) string { return count(uint64(math.Max(math.Round(v), 0))) }
	}
	return fmt.Sprintf("%s records (%s to %s)", write(records), write(interval.Low), write(interval.High))
}

// chance writes a p-value: there are no smaller ones worth telling than 0.0001.
func chance(p float64) string {
	if p < 0.0001 {
		return "below 0.0001"
	}
	return fmt.Sprintf("%.2g", p)
}
