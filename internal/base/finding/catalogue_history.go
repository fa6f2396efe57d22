package finding

// What the operations on the sampled keys showed: package history.
const (
	MarkStaleReads  Code = "history-stale"      // reads returned what an acknowledged write had replaced
	MarkLostUpdates Code = "history-lost"       // conditional writes succeeded on a version that was gone
	MarkAtomicLost  Code = "history-swaps-gone" // acknowledged conditional writes are no ancestors of what is there
	MarkVanished    Code = "history-vanished"   // reads found nothing after an acknowledged write
	MarkGhosts      Code = "history-ghosts"     // reads returned a version that nobody had begun to write
	MarkUnordered   Code = "history-unordered"  // no order of the operations explains what was read

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
	Entry{Code: MarkStaleReads, Fault: FaultStale, Example: Params{"count": 197593, "of": 201579, "late_ns": 5e7, "late_max_ns": 1e8},
		Says: `{{count .count}} of {{plural .of "sampled read" ""}} returned an overwritten value, {{latency .late_ns}} (median) to {{latency .late_max_ns}} after the overwrite was acknowledged`},
	Entry{Code: MarkLostUpdates, Fault: FaultUpdates, Example: Params{"count": 2, "of": 4000},
		Says: `{{plural .count "conditional write" ""}} succeeded on a version that another had already replaced`},
	Entry{Code: MarkAtomicLost, Fault: FaultUpdates, Example: Params{"count": 2, "of": 4000, "items": 6},
		Says: `{{count .count}} of {{plural .of "acknowledged conditional write" ""}}{{if .items}}, with {{plural .items "item" ""}},{{end}} did not last: what the records hold does not descend from them`},
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

	Entry{Code: FindChecked, Severity: Notice, Example: Params{"arm": "bbolt", "keys": 256, "records": 1500000, "dropped": 0, "undecided": 0, "reads": 1200000, "read_share": 0.06,
		"writes": 300000, "covered": 101000, "write_share": 0.04, "found4": 0.9999, "found5": 0.636, "found6": 0.096, "time_share": 0.003},
		Says: `{{.arm}}: checked the history of {{plural .keys "key" ""}} a phase: {{percent .read_share}} of reads, {{percent .write_share}} of writes` +
			`{{if has .time_share}}, for at most {{percent .time_share}} of the time{{end}}. ` +
			`A loss of 1 write in 10⁴ would be found with a chance of {{chance .found4}}, in 10⁵ {{chance .found5}}, in 10⁶ {{chance .found6}}.` +
			`{{if .dropped}} {{plural .dropped "operation" ""}} did not fit into the history.{{end}}{{if .undecided}} Undecided: {{plural .undecided "key" ""}}.{{end}}`,
		Many: `Checked sampled keys of {{list .Arms}} against their whole history. The chance to find a loss of 1 write in 10⁵: {{chances .min_found5 .max_found5}}.`},
	Entry{Code: FindEventual, Severity: Notice, Example: Params{"arm": "replica", "place": "mixed (D1)", "count": 412, "of": 9000, "late_ns": 4e6, "late_max_ns": 9e7},
		Says: `{{.arm}} returned an overwritten value in {{count .count}} of {{plural .of "sampled read" ""}} in {{.place}}, up to {{latency .late_max_ns}} late. It promises no more.`,
		Many: `{{list .Arms}} returned overwritten values in {{list .Places}}, up to {{latency .max_late_max_ns}} late. The {{agree .Arms "store promises" "stores promise"}} no more.`},
	Entry{Code: FindMissed, Severity: Notice, Example: Params{"arm": "replica", "place": "mixed (D1)", "count": 10, "of": 90000},
		Says: `{{.arm}} did not find a stored record in {{count .count}} of {{plural .of "operation" ""}} in {{.place}}. It promises no more; what is lost for good, reading back finds.`,
		Many: `{{list .Arms}} did not find some stored records in {{list .Places}}. The {{agree .Arms "store promises" "stores promise"}} no more; what is lost for good, reading back finds.`},
	Entry{Code: FindUpdates, Severity: Warning, Answer: true, Example: Params{"arm": "store", "place": "shared (D1)", "count": 412, "of": 9000, "share": 412.0 / 9000, "items": 1236},
		Says:   `{{.arm}} lost {{count .count}} of {{plural .of "acknowledged update" ""}} ({{percent .share}}){{if .items}}, with {{plural .items "item" ""}},{{end}} in {{.place}}: another client had read the same version, and overwrote them.`,
		Many:   `{{list .Arms}} lost up to {{percent .max_share}} of their acknowledged updates{{if .max_items}}, with up to {{plural .max_items "item" ""}} each,{{end}} in {{list .Places}}: another client had read the same version, and overwrote them.`,
		Remedy: `Read-then-write loses updates wherever clients share records, on any store. Use the store's own step: compare_and_swap.`},
	Entry{Code: FindNoUpdates, Severity: Notice, Example: Params{"arm": "store", "place": "shared (D1)", "count": 40, "of": 200},
		Says:   `Lost updates of {{.arm}} are unknown for {{count .count}} of {{plural .of "record" ""}} in {{.place}}: their history is not complete.`,
		Many:   `Lost updates of {{list .Arms}} are unknown for some records in {{list .Places}}: their history is not complete.`,
		Remedy: `Set operations: NUMBER in place of for, so that every step is recorded.`},
	Entry{Code: FindFailedRead, Severity: Warning, Example: Params{"arm": "store", "place": "mixed (D1)", "count": 3},
		Says:   `{{plural .count "read" ""}} of {{.arm}} returned a write that had failed with an error, in {{.place}}.`,
		Many:   `Reads of {{list .Arms}} returned writes that had failed with an error, in {{list .Places}}.`,
		Remedy: "treat errors as unknown outcomes: the write may have happened"},
	Entry{Code: FindCameLater, Severity: Warning, Example: Params{"arm": "store", "place": "mixed (D1)", "count": 3},
		Says:   `{{plural .count "write" ""}} of {{.arm}} took effect after timing out, in {{.place}}.`,
		Many:   `Writes of {{list .Arms}} took effect after timing out, in {{list .Places}}.`,
		Remedy: "treat a timeout as an unknown outcome: the write may still happen"},
)
