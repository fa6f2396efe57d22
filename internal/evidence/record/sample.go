package record

// Sample is one line of trials/ID/series.jsonl: what happened since the sample before. A field that could
// not be measured is absent.
type Sample struct {
	Phase   string  `json:"phase"` // its name
	At      float64 `json:"t"`     // seconds since the phase began, at the sample's end
	Seconds float64 `json:"dt"`    // since the sample before
	// Operations that ended.
	Operations uint64 `json:"ops"`
	// The same by name, where there are several kinds.
	ByName map[string]uint64 `json:"by,omitempty"`
	// Of these lost, wrong, error, timeout, or refused: the conflicts of all but add and compare_and_swap.
	Bad   uint64   `json:"bad,omitempty"`
	P50NS *float64 `json:"p50,omitempty"` // service time of all operations together, ns
	P99NS *float64 `json:"p99,omitempty"` // likewise
	MaxNS *float64 `json:"max,omitempty"` // likewise
	// Where the phase has several groups: of each, in their order.
	Groups []GroupSample `json:"groups,omitempty"`
	// Live records at the sample's end, by the trace's arithmetic.
	Records *uint64 `json:"records,omitempty"`
	// Bytes allocated under the data directory, at the sample's end.
	DiskBytes *uint64 `json:"disk,omitempty"`
	// Resident memory in bytes, at the sample's end.
	RSSBytes   *uint64  `json:"rss,omitempty"`
	CPUSeconds *float64 `json:"cpu,omitempty"` // CPU seconds used
	// Bytes that went to the storage layer, by /proc/PID/io. Absent, where that counts wrong:
	// docs/run-directory.md, "Host writes".
	WriteBytes *uint64 `json:"write,omitempty"`
	// Bytes that came from the storage layer, by /proc/PID/io.
	ReadBytes *uint64 `json:"read,omitempty"`
	// How something was stopped from outside in this sample: [Stop.Why]. "": nothing was.
	Stopped string `json:"stopped,omitempty"`
	// Share (0 to 1) of the machine's CPU time that the hypervisor took.
	Steal *float64 `json:"steal,omitempty"`
	// Share (0 to 1) of the machine's CPU time that processes used which are not this trial's.
	Foreign *float64 `json:"foreign,omitempty"`
	// The store's own counters as they stand, about once a second, where its worker reports them.
	Stats Values `json:"stats,omitzero"`
	// Series of docs/run-directory/telemetry.csv by name, but those that have a field here.
	Resources Values `json:"res,omitzero"`
}

// GroupSample is what one group of clients did in a sample. Its fields are those of the sample.
type GroupSample struct {
	Operations uint64            `json:"ops"`           // that ended
	ByName     map[string]uint64 `json:"by,omitempty"`  // the same by name, where there are several kinds
	Bad        uint64            `json:"bad,omitempty"` // of these lost, wrong, error, timeout or refused
	P50NS      *float64          `json:"p50,omitempty"` // service time, ns
	P99NS      *float64          `json:"p99,omitempty"` // likewise
	MaxNS      *float64          `json:"max,omitempty"` // likewise
}
