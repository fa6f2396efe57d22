package finding

// What the operations on the sampled keys showed: package history.
const (
	MarkStaleReads  Code = "stale-values history"     // reads returned what an acknowledged write had replaced
	MarkLostUpdates Code = "lost-updates history"     // conditional writes succeeded on a version that was gone
	MarkAtomicLost  Code = "lost-updates overwritten" // acknowledged conditional writes are no ancestors of what is there
	MarkVanished    Code = "lost-values history"      // reads found nothing after an acknowledged write
	MarkGhosts      Code = "wrong-values history"     // reads returned a version before its write began
	MarkUnordered   Code = "not-linearizable history" // no order of the operations explains what was read

	FaultUpdates Code = "lost-updates"
	FaultOrder   Code = "not-linearizable"

	FindEventual   Code = "weak-consistency stale"  // the store promises no more
	FindMissed     Code = "weak-consistency missed" // likewise
	FindUpdates    Code = "updates-overwritten"
	FindFailedRead Code = "unknown-outcome failed-read"
	FindCameLater  Code = "unknown-outcome came-later"
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
		Many:   `{{list .Arms}} lost updates in {{places .Places}}: conditional writes succeeded on a replaced version.`,
		Remedy: suspectStore},
	Entry{Example: FaultParams{Code: FaultOrder, At: example, Count: 2}, Severity: Grave,
		Says:   `{{.arm}} is not linearizable in {{.place}}: no order explains what was read of {{plural .count "key" ""}}.`,
		Many:   `{{list .Arms}} {{agree .Arms "is" "are"}} not linearizable in {{places .Places}}.`,
		Remedy: suspectStore},

	Entry{Example: InconsistencyParams{Code: FindEventual, At: At{"replica", "mixed (D1)"}, Count: 412, Of: 9000, LateNS: 4e6,
		LateMaxNS: 9e7, CurrentAfterNS: 1e7}, Severity: Notice,
		Also: []Parameters{InconsistencyParams{Code: FindEventual, At: At{"replica", "mixed (D1)"}, Count: 412, Of: 9000, LateNS: 4e6, LateMaxNS: 9e7}},
		Says: `{{.arm}} returned an overwritten value in {{count .count}} of {{plural .of "sampled read" ""}} in {{.place}}, {{latency .late_ns}} late at the median and up to {{latency .late_max_ns}}. {{if .current_after_ns}}From {{latency .current_after_ns}} after a write on, 99 % of reads were current.{{else}}This consistency level allows it.{{end}}`,
		Many: `{{list .Arms}} returned overwritten values in {{places .Places}}, up to {{latency .max_late_max_ns}} late. This consistency level allows it.`},
	Entry{Example: InconsistencyParams{Code: FindMissed, At: At{"replica", "mixed (D1)"}, Count: 10, Of: 90000}, Severity: Notice,
		Says: `{{.arm}} did not find a stored record in {{count .count}} of {{plural .of "operation" ""}} in {{.place}}. This consistency level allows it. The final check finds permanent losses.`,
		Many: `{{list .Arms}} did not find some stored records in {{places .Places}}. The consistency level allows it. The final check finds permanent losses.`},
	Entry{Example: InconsistencyParams{Code: FindUpdates, At: At{"store", "shared (D1)"}, Count: 412, Of: 9000,
		Share: Known(412.0 / 9000), Items: 1236}, Severity: Warning, Answer: true, InAnswer: true,
		Says:   `{{.arm}} lost {{count .count}} of {{plural .of "acknowledged update" ""}} ({{percent .share}}){{if .items}}, with {{plural .items "item" ""}},{{end}} in {{.place}}: another client had read the same version, and overwrote them.`,
		Many:   `{{list .Arms}} lost up to {{percent .max_share}} of acknowledged updates{{if .max_items}} (up to {{plural .max_items "item" ""}}){{end}} in {{places .Places}}: another client had read the same version, and overwrote them.`,
		Remedy: `Read-then-write loses updates wherever clients share records, on any store. Use the store's own step: compare_and_swap.`},
	Entry{Example: InconsistencyParams{Code: FindFailedRead, At: At{"store", "mixed (D1)"}, Count: 3}, Severity: Warning,
		Says:   `{{plural .count "read" ""}} of {{.arm}} returned a write that had failed with an error, in {{.place}}.`,
		Many:   `Reads of {{list .Arms}} returned writes that had failed with an error, in {{places .Places}}.`,
		Remedy: "treat errors as unknown outcomes: the write may have happened"},
	Entry{Example: InconsistencyParams{Code: FindCameLater, At: At{"store", "mixed (D1)"}, Count: 3}, Severity: Warning,
		Says:   `{{plural .count "write" ""}} of {{.arm}} took effect after timing out, in {{.place}}.`,
		Many:   `Writes of {{list .Arms}} took effect after timing out, in {{places .Places}}.`,
		Remedy: "treat a timeout as an unknown outcome: the write may still happen"},
)

type MarkStaleReadsParams struct {
	Count, Of         uint64
	LateNS, LateMaxNS int64
}

func (MarkStaleReadsParams) code() Code { return MarkStaleReads }

type MarkAtomicLostParams struct{ Count, Of, Items uint64 }

func (MarkAtomicLostParams) code() Code { return MarkAtomicLost }
