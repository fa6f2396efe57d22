package tell

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"assay/internal/analysis/facts"
	"assay/internal/base/finding"
	"assay/internal/base/format"
	"assay/internal/base/secret"
	"assay/internal/experiment"
	"assay/internal/experiment/capacity"
	"assay/internal/experiment/trace"
	"assay/store"
)

// classTitle names a durability class by what it survives: "survives a power cut (D3)", and says where
// it is a claim alone.
func classTitle(c experiment.Cell, claimed bool) string {
	return finding.Text(finding.New(finding.ClassParams{Level: string(c.Durability), Class: c.ClassText(),
		Window: time.Duration(c.LossWindow).String(), Claimed: claimed}))
}

// titleOf names the class of a table, says where it is a claim alone, where it is proved, and where
// reads may be old.
func titleOf(t *facts.Table) string {
	title := classTitle(t.Parameters, t.Claimed)
	if !t.Claimed {
		title = provedTitle(t, title)
	}
	if t.Eventual {
		title = finding.Text(finding.New(finding.ClassEventualParams{Title: title,
			WithinS: time.Duration(t.WithinNS).Seconds()}))
	}
	return title
}

// doing says what a phase does.
func doing(p experiment.Phase, v *experiment.Values) finding.Message {
	names := slices.SortedFunc(maps.Keys(p.Mix), func(a, b string) int {
		return cmp.Or(cmp.Compare(p.Mix[b], p.Mix[a]), strings.Compare(a, b))
	})
	total := 0.0
	for _, weight := range p.Mix {
		total += weight
	}
	var mix []string
	for _, name := range names {
		text := strings.ReplaceAll(name, "_", " ")
		if len(names) > 1 && total > 0 {
			text = format.Percent(p.Mix[name]/total) + " " + text
		}
		mix = append(mix, text)
	}
	if len(p.Request) > 0 {
		mix = []string{p.MixText()}
	}
	does := finding.DoingParams{Mix: mix, Order: strings.ReplaceAll(p.Order.Distribution, "_", " "),
		Theta: p.Order.Theta, Rate: p.Rate}
	if p.Rate > 0 {
		does.Arrivals = string(cmp.Or(p.Arrivals, trace.Poisson))
	}
	if p.Think.Mean > 0 {
		does.Think = p.Think.String()
	}
	if p.Capacity != nil {
		does.Objectives, does.Arrivals = capacity.Texts(p.Capacity.Objectives), string(cmp.Or(p.Arrivals,
			trace.Poisson))
	}
	if p.Replay != nil {
		does.Replay = p.Replay.Text()
		if p.Rate > 0 {
			does.Arrivals = p.Order.Distribution
		}
	} else if len(p.Segments) > 0 {
		does.OverTime = p.RateText()
	}
	if p.Batch > 1 {
		does.Batch = p.Batch
	}
	if does.Fills = p.Fill; p.Backend > 0 {
		does.Backend = p.Backend.String()
	}
	if s := p.Order.Shift; s.Parts > 0 {
		does.Shift = fmt.Sprintf("one record in %d moves every %s", s.Parts, s.Every)
	}
	if p.MultiRead > 1 {
		does.MultiRead = p.MultiRead
	}
	if p.Append.Parts > 0 {
		does.Append = fmt.Sprintf("up to %d parts of %s B", p.Append.Parts, format.Count(uint64(p.Append.Bytes)))
	}
	var queries []string
	for _, a := range p.Asked {
		if text := experiment.QueryText(v.Queries[a.Query]); !slices.Contains(queries, text) {
			queries = append(queries, text)
		}
	}
	does.Queries = strings.Join(queries, "; ")
	if p.Operations > 0 {
		does.Operations = p.Operations
	} else {
		does.Seconds = finding.Known(p.Lasts().Seconds())
	}
	return finding.New(does)
}

// conditions says what a cell fixes besides its class, and the phase within it.
func conditions(e *experiment.Experiment, c experiment.Cell, p experiment.Phase) (all []finding.Parameters) {
	add := func(p finding.Parameters) { all = append(all, p) }
	if beginsEmpty(e) {
		add(finding.ConditionEmptyParams{Bytes: valueLength(&e.Values, c.ValueBytes)})
	} else {
		add(finding.ConditionRecordsParams{Records: c.Records, Bytes: valueLength(&e.Values, c.ValueBytes)})
	}
	threads := finding.ConditionThreadsParams{Threads: p.MostThreadsIn(c), Processes: p.ProcessesIn(c)}
	if agents := e.AgentsIn(c); agents > 0 && agents == threads.Processes {
		threads.Agents = e.Agents
	}
	add(threads)
	pipeline := c.Pipeline
	if pipeline == 1 {
		pipeline = 0 // as it is everywhere else
	}
	add(finding.ConditionHandlesParams{Handles: c.Handles, Pool: c.PoolHandles, Pipeline: pipeline})
	if c.Entry != "" {
		add(finding.ConditionEntryParams{Entry: c.Entry})
	}
	if e.TimedEvery > 0 {
		add(finding.ConditionSampledParams{Every: e.TimedEvery})
	}
	if c.MemoryLimit > 0 {
		add(finding.ConditionMemoryParams{Bytes: c.MemoryLimit})
	}
	if c.DiskQuota > 0 {
		add(finding.ConditionQuotaParams{Bytes: c.DiskQuota, Mount: e.DiskQuotaBy == experiment.QuotaByMount})
	}
	if c.CPUs != nil {
		add(finding.ConditionCpusParams{Client: c.CPUs.Client.String(), Server: c.CPUs.Server.String()})
	}
	if e.Cache == experiment.CacheCold {
		add(finding.ConditionCold)
	}
	if columns := e.Values.Columns; len(columns) > 0 {
		var names, indexes []string
		for _, column := range columns {
			names = append(names, column.Name)
		}
		for _, x := range e.Values.Indexes {
			indexes = append(indexes, x.Text())
		}
		add(finding.ConditionColumnsParams{Columns: names, Indexes: indexes})
	}
	return all
}

// valueLength writes how long values are: "1,449 B", and of a mixture its ends and its mean.
func valueLength(v *experiment.Values, mean int) string {
	text := format.Count(uint64(max(mean, 0))) + " B"
	if len(v.Sizes) < 2 {
		return text
	}
	byBytes := func(a, b experiment.Size) int { return cmp.Compare(a.Bytes, b.Bytes) }
	low, high := slices.MinFunc(v.Sizes, byBytes), slices.MaxFunc(v.Sizes, byBytes)
	return fmt.Sprintf("%s to %s B (mean %s)", format.Count(uint64(low.Bytes)), format.Count(uint64(high.Bytes)), text)
}

// beginsEmpty reports whether nothing is loaded and all that is done stores new keys without end:
// then Cell.Records is no number of records.
func beginsEmpty(e *experiment.Experiment) bool {
	for _, p := range e.Phases {
		for operation := range p.Mix {
			if operation != trace.Insert.String() && operation != trace.Add.String() &&
				p.Order.Distribution != trace.Counting {
				return false
			}
		}
		if p.Load {
			return false
		}
	}
	return len(e.Phases) > 0
}

// changedOptions says which options an arm has otherwise than by default, and what decides its
// classes. Two ways to write one number of bytes are the same.
func changedOptions(s experiment.Store, deciding []string) finding.Message {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(s.AllOptions())) {
		value, usual := s.AllOptions()[name], ""
		for _, o := range s.AllDeclared() {
			if o.Name == name {
				usual = o.Default
				given, err := store.ParseBytes(value)
				bytes, usualErr := store.ParseBytes(o.Default)
				if o.Type == store.Bytes && err == nil && usualErr == nil && given == bytes {
					usual = value
				}
			}
		}
		switch usual {
		case value:
		case "":
			parts = append(parts, name+"="+value)
		default:
			parts = append(parts, fmt.Sprintf("%s=%s (default %s)", name, value, usual))
		}
	}
	return finding.New(finding.OptionsParams{Changed: strings.Join(parts, ", "), Deciding: deciding})
}

// shellCommand quotes words so that a POSIX shell reads them back. A run directory of an earlier version
// may have a secret in its command.
func shellCommand(words ...string) string {
	words = secret.Words(words)
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = word
		if word == "" || strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,@%+") != "" {
			quoted[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

func messagesOf(statements []finding.Parameters) (messages []finding.Message) {
	for _, p := range statements {
		messages = append(messages, finding.New(p))
	}
	return messages
}
