package finding

// What the operations on the sampled keys showed: package history.
const (
	MarkStaleReads  Code = "history-stale"     // reads returned what an acknowledged write had replaced
	MarkLostUpdates Code = "history-lost"      // conditional writes succeeded on a version that was gone
	MarkVanished    Code = "history-vanished"  // reads found nothing after an acknowledged write
	MarkGhosts      Code = "history-ghosts"    // reads returned a version that nobody had begun to write
	MarkUnordered   Code = "history-unordered" // no order of the operations explains what was read

	FaultUpdates Code = "lost-updates"
	FaultOrder   Code = "not-linearizable"

	FindChecked    Code = "consistency-checked"
	FindEventual   Code = "stale-by-design"
	FindFailedRead Code = "failed-writes-read"
	FindCameLater  Code = "timeouts-came-later"
)

var _ = register(
	Entry{Code: MarkStaleReads, Fault: FaultStale, Example: Params{"count": 197593, "of": 201579, "late_ns": 5e7, "late_max_ns": 1e8},
		Says: `{{count .count}} of {{plural .of "sampled read" ""}} returned an overwritten value, {{latency .late_ns}} (median) to {{latency .late_max_ns}} after the overwrite was acknowledged`},
	Entry{Code: MarkLostUpdates, Fault: FaultUpdates, Example: Params{"count": 2, "of": 4000},
		Says: `{{plural .count "conditional write" ""}} succeeded on a version that another had already replaced`},
	Entry{Code: MarkVanished, Fault: FaultLost, Example: Params{"count": 2, "of": 4000},
		Says: `{{count .count}} of {{plural .of "sampled read" ""}} found nothing after an acknowledged write, without a delete`},
	Entry{Code: MarkGhosts, Fault: FaultWrong, Example: Params{"count": 2, "of": 4000},
		Says: `{{count .count}} of {{plural .of "sampled read" ""}} returned a version before its write began, or one that was never written`},
	Entry{Code: MarkUnordered, Fault: FaultOrder, Example: Params{"count": 2, "of": 4000},
		Says: `no order of the operations explains what was read of {{plural .count "sampled key" ""}}`},

	Entry{Code: FaultUpdates, Severity: Grave, Example: fault("count", 2),
		Says:   `{{.arm}} lost {{plural .count "update" ""}} in {{.place}}: conditional writes succeeded on a replaced version.`,
		Many:   `{{list .Arms}} lost updates in {{list .Places}}: conditional writes succeeded on a replaced version.`,
		Remedy: suspectStore},
	Entry{Code: FaultOrder, Severity: Grave, Example: fault("count", 2),
		Says:   `{{.arm}} is not linearizable in {{.place}}: no order explains what was read of {{plural .count "key" ""}}.`,
		Many:   `{{list .Arms}} {{agree .Arms "is" "are"}} not linearizable in {{list .Places}}.`,
		Remedy: suspectStore},

	Entry{Code: FindChecked, Severity: Notice, Example: Params{"keys": 256, "reads": 1200000, "writes": 300000, "covered": 101000, "found4": 0.9999, "found5": 0.636, "found6": 0.096},
		Says: `Checked {{count .reads}} reads of sampled keys against their whole history. A loss of 1 write in 10⁴, 10⁵, 10⁶ would have been found with {{percent .found4}}, {{percent .found5}}, {{percent .found6}}.`},
	Entry{Code: FindEventual, Severity: Notice, Example: Params{"arm": "replica", "place": "mixed (D1)", "count": 412, "of": 9000, "late_ns": 4e6, "late_max_ns": 9e7},
		Says: `{{.arm}} returned an overwritten value in {{count .count}} of {{plural .of "sampled read" ""}} in {{.place}}, up to {{latency .late_max_ns}} late. It promises no more.`},
	Entry{Code: FindFailedRead, Severity: Warning, Example: Params{"arm": "store", "place": "mixed (D1)", "count": 3},
		Says:   `{{.arm}} showed {{plural .count "read" ""}} of writes that it had answered with an error, in {{.place}}.`,
		Remedy: "treat its errors as unknown outcomes: the write may have happened"},
	Entry{Code: FindCameLater, Severity: Warning, Example: Params{"arm": "store", "place": "mixed (D1)", "count": 3},
		Says:   `{{plural .count "write" ""}} of {{.arm}} took effect after timing out, in {{.place}}.`,
		Remedy: "treat a timeout as an unknown outcome: the write may still happen"},
)
