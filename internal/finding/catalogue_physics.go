package finding

// What physics forbids: see internal/run/durable.go.
const (
	MarkTooFewSyncs Code = "syncs-too-few" // of the disk, for the writes that were acknowledged as synced

	FaultNotDurable Code = "durability-not-shown"
)

var _ = register(
	Entry{Code: MarkTooFewSyncs, Fault: FaultNotDurable,
		Example: Params{"acknowledged": 540000, "threads": 2, "least": 270000, "done": 12, "counted": "flushes", "disk": "nvme0n1"},
		Says: `{{count .acknowledged}} writes of {{plural .threads "thread" ""}} were acknowledged as synced, which needs {{count .least}} flushes or more; ` +
			`{{.disk}} did {{count .done}} {{.counted}}`},

	Entry{Code: FaultNotDurable, Severity: Grave, Example: fault(),
		Says:   `{{.arm}}: durability not shown in {{.place}}: the disk did far too few flushes for the writes acknowledged as synced. It has no rank there.`,
		Many:   `{{list .Arms}}: durability not shown in {{plural .Count "table" ""}}: the disk did far too few flushes for the writes acknowledged as synced.`,
		Remedy: "check that the driver syncs before it acknowledges; if it does not, give it a weaker class"},
)
