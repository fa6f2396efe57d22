package report

import (
	"fmt"
	"slices"
	"strings"

	"assay/internal/host"
	"assay/internal/plan"
	"assay/internal/record"
	"assay/internal/verdict"
)

// Quota says that trials stood on file systems of their own, each of the size of the disk quota.
type Quota struct {
	Sentence string `json:"sentence"`          // kind, size, and what of it was usable
	Caution  string `json:"caution,omitempty"` // a sentence: what a reader must know of it
}

// quotaMounts are the file systems of some trials, and the arms whose trials had none.
type quotaMounts struct {
	kinds   []string // distinct, in the order in which they came
	bytes   []uint64
	usable  []uint64
	caution string
	without []string
}

func (q *quotaMounts) add(arm string, t *record.Trial) {
	if t == nil || t.State == record.Refused {
		return
	}
	m := t.QuotaMount
	if m == nil {
		if !slices.Contains(q.without, arm) {
			q.without = append(q.without, arm)
		}
		return
	}
	kind := m.FileSystem + " in memory"
	if m.By == host.QuotaLoop {
		kind = m.FileSystem + " over a loop device"
	}
	if !slices.Contains(q.kinds, kind) {
		q.kinds = append(q.kinds, kind)
	}
	q.bytes, q.usable = append(q.bytes, m.Bytes), append(q.usable, m.UsableBytes)
	if m.Caution != "" {
		q.caution = m.Caution
	}
}

// text is "ext4 over a loop device, 2 GiB, 1.885 GiB of it usable", in the units in which the quota was given; "" if no trial had one.
func (q *quotaMounts) text() string {
	if len(q.kinds) == 0 {
		return ""
	}
	write := func(bytes uint64) string { return bytesText(float64(bytes)) }
	if !slices.ContainsFunc(q.bytes, func(bytes uint64) bool { return !givenInBinary(bytes) }) {
		write = binaryText
	}
	return fmt.Sprintf("%s, %s, %s of it usable", strings.Join(q.kinds, " or "), bytesRange(q.bytes, write), bytesRange(q.usable, write))
}

func bytesRange(values []uint64, write func(bytes uint64) string) string {
	least, most := write(slices.Min(values)), write(slices.Max(values))
	if least == most {
		return most
	}
	return least + " to " + most
}

// quotaOf is of the trials of one table; nil: none of them had a file system of its own.
func quotaOf(run *record.Run, t *verdict.Table) *Quota {
	var mounts quotaMounts
	for i := range t.Rows {
		if t.Rows[i].Role == plan.Ceiling { // it stores nothing
			continue
		}
		for _, o := range t.Rows[i].Trials {
			mounts.add(t.Rows[i].Arm, run.Trials[o.Trial])
		}
	}
	text := mounts.text()
	if text == "" {
		return nil
	}
	q := &Quota{Sentence: "The disk quota is a file system of its own for each trial: " + text + "."}
	if len(mounts.without) > 0 {
		q.Sentence = "The disk quota is a file system of its own for each trial (none for " + strings.Join(mounts.without, ", ") + "): " + text + "."
	}
	if mounts.caution != "" {
		q.Caution = capital(strings.TrimSuffix(mounts.caution, ".")) + "."
	}
	return q
}

// quotaFact is of all trials of a run, for what is said of the machine; false: none of them had a file system of its own.
func quotaFact(run *record.Run) (Fact, bool) {
	var mounts quotaMounts
	for _, planned := range run.Plan {
		mounts.add(planned.Arm, run.Trials[planned.ID])
	}
	text := mounts.text()
	if mounts.caution != "" {
		text += ": " + strings.TrimSuffix(mounts.caution, ".")
	}
	return Fact{quotaFactName, text}, len(mounts.kinds) > 0
}

// quotaFactName is what the file systems of the trials are called beside that of the run.
const quotaFactName = "File system of each trial"
