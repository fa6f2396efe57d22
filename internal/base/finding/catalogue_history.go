package finding

// What the operations on the sampled keys showed: package history.
const (
	MarkStaleReads  Code = "stale-values history"     // reads returned what an acknowledged write had replaced
	MarkLostUpdates Code = "lost-updates history"     // conditional writes succeeded on a version that was gone
	MarkAtomicLost  Code = "lost-updates overwritten" // acknowledged conditional writes are no ancestors of what is there
	MarkVanished    Code = "lost-values history"      // reads found nothing after an acknowledged write
	MarkGhosts      Code = "wrong-values history"     // reads returned a version that nobody had begun to write
	MarkUnordered   Code = "not-linearizable history" // no order of the operations explains what was read

	FaultUpdates Code = "lost-updates"
	FaultOrder   Code = "not-linearizable"

	FindChecked    Code = "consistency-checked" // of how much, and which loss would have been found
	FindEventual   Code = "stale-by-design"     // the store promises no more
	FindMissed     Code = "missed-by-design"    // likewise
	FindUpdates    Code = "updates-overwritten"
	FindNoUpdates  Code = "updates-unknown"
	FindFailedRead Code = "failed-writes-read"
	FindCameLater  Code = "timeouts-came-later"
)

var _ = register(
	Entry{Example: MarkStaleReadsParams{Count: 197593, Of: 201579, LateNS: 5e7, LateMaxNS: 1e8},
		Says: `{{count .count}} of {{plural .of "sampled read" ""}} returned an overwritten value, {{latency .late_ns}} (median) to {{latency .late_max_ns}} after the overwrite was acknowledged`},
	Entry{Example: CountParams{Code: MarkLostUpdates, Count: 2, Of: 4000},
		Says: `{{plural .count "conditional write" ""}} succeeded on a version that another had already replaced`},
	Entry{Example: MarkAtomicLostParams{Count: 2, Of: 4000, Items: 6},
		Says: `{{count .count}} of {{plural .of "acknowledged conditional write" ""}}{{if .items}}, with {{plural .items "item" ""}},{{end}} did not last: what the records hold does not descend from them`},
	Entry{Example: CountParams{Code: MarkVanished, Count: 2, Of: 4000},
		Says: `{{count .count}} of {{plural .of "sampled read" ""}} found nothing after an acknowledged write, without a delete`},
	Entry{Example: CountParams{Code: MarkGhosts, Count: 2, Of: 4000},
		Says: `{{count .count}} of {{plural .of "sampled read" ""}} returned a version before its write began, or one that was never written`},
	Entry{Example: CountParams{Code: MarkUnordered, Count: 2, Of: 4000},
		Says: `no order of the operations explains what was read of {{plural .count "sampled key" ""}}`},

	Entry{Example: FaultParams{Code: FaultUpdates, At: example, Count: 2}, Severity: Grave,
		Says:   `{{.arm}} lost {{plural .count "update" ""}} in {{.place}}: conditional writes succeeded on a replaced version.`,
		Many:   `{{list .Arms}} lost updates in {{list .Places}}: conditional writes succeeded on a replaced version.`,
		Remedy: suspectStore},
	Entry{Example: FaultParams{Code: FaultOrder, At: example, Count: 2}, Severity: Grave,
		Says:   `{{.arm}} is not linearizable in {{.place}}: no order explains what was read of {{plural .count "key" ""}}.`,
		Many:   `{{list .Arms}} {{agree .Arms "is" "are"}} not linearizable in {{list .Places}}.`,
		Remedy: suspectStore},

	Entry{Example: FindCheckedParams{Arm: "bbolt", Keys: 256, Records: 1500000, Dropped: 0, Undecided: 0,
		Reads: 1200000, ReadShare: 0.06, Writes: 300000, Covered: 101000, WriteShare: 0.04, Found4: 0.9999, Found5: 0.636, Found6: 0.096, TimeShare: Known(0.003)}, Severity: Notice,
		Says: `{{.arm}}: checked the history of {{plural .keys "key" ""}} a phase: {{percent .read_share}} of reads, {{percent .write_share}} of writes` +
			`{{if has .time_share}}, for at most {{percent .time_share}} of the time{{end}}. ` +
			`A loss of 1 write in 10⁴ would be found with a chance of {{chance .found4}}, in 10⁵ {{chance .found5}}, in 10⁶ {{chance .found6}}.` +
			`{{if .dropped}} {{plural .dropped "operation" ""}} did not fit into the history.{{end}}{{if .undecided}} Undecided: {{plural .undecided "key" ""}}.{{end}}`,
		Many: `Checked sampled keys of {{list .Arms}} against their whole history. The chance to find a loss of 1 write in 10⁵: {{chances .min_found5 .max_found5}}.`},
	Entry{Example: FindEventualParams{At: At{"replica", "mixed (D1)"}, Count: 412, Of: 9000, LateNS: 4e6,
		LateMaxNS: 9e7}, Severity: Notice,
		Says: `{{.arm}} returned an overwritten value in {{count .count}} of {{plural .of "sampled read" ""}} in {{.place}}, up to {{latency .late_max_ns}} late. It promises no more.`,
		Many: `{{list .Arms}} returned overwritten values in {{list .Places}}, up to {{latency .max_late_max_ns}} late. The {{agree .Arms "store promises" "stores promise"}} no more.`},
	Entry{Example: FindMissedParams{At: At{"replica", "mixed (D1)"}, Count: 10, Of: 90000}, Severity: Notice,
		Says: `{{.arm}} did not find a stored record in {{count .count}} of {{plural .of "operation" ""}} in {{.place}}. This consistency level allows it. The final check finds permanent losses.`,
		Many: `{{list .Arms}} did not find some stored records in {{list .Places}}. The consistency level allows it. The final check finds permanent losses.`},
	Entry{Example: FindUpdatesParams{At: At{"store", "shared (D1)"}, Count: 412, Of: 9000,
		Share: 412.0 / 9000, Items: 1236}, Severity: Warning, Answer: true,
		Says:   `{{.arm}} lost {{count .count}} of {{plural .of "acknowledged update" ""}} ({{percent .share}}){{if .items}}, with {{plural .items "item" ""}},{{end}} in {{.place}}: another client had read the same version, and overwrote them.`,
		Many:   `{{list .Arms}} lost up to {{percent .max_share}} of their acknowledged updates{{if .max_items}}, with up to {{plural .max_items "item" ""}} each,{{end}} in {{list .Places}}: another client had read the same version, and overwrote them.`,
		Remedy: `Read-then-write loses updates wherever clients share records, on any store. Use the store's own step: compare_and_swap.`},
	Entry{Example: FindNoUpdatesParams{At: At{"store", "shared (D1)"}, Count: 40, Of: 200}, Severity: Notice,
		Says:   `Lost updates of {{.arm}} are unknown for {{count .count}} of {{plural .of "record" ""}} in {{.place}}: their history is not complete.`,
		Many:   `Lost updates of {{list .Arms}} are unknown for some records in {{list .Places}}: their history is not complete.`,
		Remedy: `Set operations: NUMBER in place of for, so that every step is recorded.`},
	Entry{Example: LateWriteParams{Code: FindFailedRead, At: At{"store", "mixed (D1)"}, Count: 3}, Severity: Warning,
		Says:   `{{plural .count "read" ""}} of {{.arm}} returned a write that had failed with an error, in {{.place}}.`,
		Many:   `Reads of {{list .Arms}} returned writes that had failed with an error, in {{list .Places}}.`,
		Remedy: "treat errors as unknown outcomes: the write may have happened"},
	Entry{Example: LateWriteParams{Code: FindCameLater, At: At{"store", "mixed (D1)"}, Count: 3}, Severity: Warning,
		Says:   `{{plural .count "write" ""}} of {{.arm}} took effect after timing out, in {{.place}}.`,
		Many:   `Writes of {{list .Arms}} took effect after timing out, in {{list .Places}}.`,
		Remedy: "treat a timeout as an unknown outcome: the write may still happen"},
)

type MarkStaleReadsParams struct {
	Count, Of         uint64
	LateNS, LateMaxNS int64
}

func (MarkStaleReadsParams) code() Code { return MarkStaleReads }

type MarkAtomicLostParams struct{ Count, Of, Items uint64 }

func (MarkAtomicLostParams) code() Code { return MarkAtomicLost }

type FindCheckedParams struct {
	Arm                                string
	Keys                               int
	Records, Dropped, Undecided, Reads uint64
	ReadShare                          float64
	Writes, Covered                    uint64
	WriteShare, Found4, Found5, Found6 float64
	TimeShare                          *float64
}

func (FindCheckedParams) code() Code { return FindChecked }

type FindEventualParams struct {
	At
	Trials                       int `param:"omitempty"`
	Count, Of, LateNS, LateMaxNS float64
}

func (FindEventualParams) code() Code { return FindEventual }

type FindMissedParams struct {
	At
	Trials    int `param:"omitempty"`
	Count, Of float64
}

func (FindMissedParams) code() Code { return FindMissed }

type FindUpdatesParams struct {
	At
	Trials                  int `param:"omitempty"`
	Count, Of, Share, Items float64
}

func (FindUpdatesParams) code() Code { return FindUpdates }

type FindNoUpdatesParams struct {
	At
	Trials    int `param:"omitempty"`
	Count, Of float64
}

func (FindNoUpdatesParams) code() Code { return FindNoUpdates }
