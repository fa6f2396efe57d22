package finding

// What is not known because it could not be measured. The kind says what, and the sentence why.
const (
	NoMachine Code = "not-measured machine"      // load of others, quotas or heat
	NoHarness Code = "not-measured harness"      // how much of an operation the harness takes
	NoEffect  Code = "not-measured group-effect" // what one group of clients did to another
	NoUpdates Code = "not-measured lost-updates" // of records whose history is not complete
	NoWrites  Code = "not-measured host-writes"
	NoServer  Code = "not-measured server" // memory and CPU time of a server, or a part of them
	NoNoise   Code = "not-measured noise"
)

var _ = register(
	Entry{Example: NotMeasuredParams{Code: NoHarness, Arms: []string{"redis-java"}, Places: []string{"put (D1)"}}, Severity: Notice,
		Says: `Harness overhead unknown for {{list .arms}} in {{places .places}}: ` +
			`{{if has .why}}every null-driver trial was disturbed{{else}}no null-driver trial{{end}}.`,
		Remedy: `{{if has .why}}run it again while nothing else uses the machine` +
			`{{else}}build null-c (make native), or give the worker a driver of kind none{{end}}`,
		Also: []Parameters{NotMeasuredParams{Code: NoHarness, Arms: []string{"bbolt"}, Places: []string{"put (D1)"}, Why: "disturbed"}}},
	Entry{Example: NotMeasuredParams{Code: NoMachine, What: []string{"foreign", "heat"}, Counts: []int{3, 40}, Of: 40}, Severity: Notice,
		Says: `{{if and (eq (len .what) 1) (eq (index .what 0) "heat")}}Throttling was not measured in {{index .counts 0}} of {{plural .of "phase" ""}}: this machine does not report it.` +
			`{{else}}Not measured, of {{plural .of "phase" ""}}: {{range $i, $w := .what}}{{if $i}}, {{end}}` +
			`{{if eq $w "foreign"}}load of other processes{{else if eq $w "steal"}}time taken by the hypervisor{{else if eq $w "quota"}}CPU quotas{{else}}throttling{{end}} in {{index $.counts $i}}{{end}}.{{end}}`,
		Remedy: "assay doctor; longer phases help where clock ticks are too coarse",
		Also:   []Parameters{NotMeasuredParams{Code: NoMachine, What: []string{"heat"}, Counts: []int{12}, Of: 12}}},
	Entry{Example: GroupUnknownParams{GroupBeside: GroupBeside{At: example, Group: "insert",
		Other: "count", Seconds: 0.04}, SampleS: 0.05}, Severity: Notice,
		Says:   `What {{.other}} did to {{.group}} on {{.arm}} in {{.place}} is unknown: it ran for {{seconds .seconds}}, with a sample each {{seconds .sample_s}}.`,
		Many:   `What one group did to another on {{list .Arms}} is unknown: it ran for at most {{seconds .max_seconds}}, less than three samples.`,
		Remedy: "let the group do more operations, or set a shorter sample, such as sample: 10ms"},
	Entry{Example: InconsistencyParams{Code: NoUpdates, At: At{"store", "shared (D1)"}, Count: 40, Of: 200}, Severity: Notice,
		Says:   `Lost updates of {{.arm}} are unknown for {{count .count}} of {{plural .of "record" ""}} in {{.place}}: their history is not complete.`,
		Many:   `Lost updates of {{list .Arms}} are unknown for some records in {{places .Places}}: their history is not complete.`,
		Remedy: `Set operations: NUMBER in place of for, so that every step is recorded.`},
	Entry{Example: NotMeasuredParams{Code: NoWrites, Arms: []string{"bbolt"}, Why: "the kernel does not report them"},
		Says: `Host writes not measured for {{list .arms}}: {{clean .why}}.`},
	Entry{Example: NotMeasuredParams{Code: NoServer, Arms: []string{"memcached"}, Why: "it is on another machine"},
		Says: `Memory and CPU of {{list .arms}} are incomplete: {{clean .why}}.`},
	Entry{Example: NotMeasuredParams{Code: NoNoise},
		Says: `Noise unknown: no valid A/A pair. Differences below 3 % are ignored.`},
)

// NotMeasuredParams are of what could not be measured of some arms and places, or What in so many of
// all phases.
type NotMeasuredParams struct {
	Code               Code     `param:"-"`
	Arms, Places, What []string `param:"omitempty"`
	Counts             []int    `param:"omitempty"`
	Of                 int      `param:"omitempty"`
	Why                string   `param:"omitempty"`
}

func (p NotMeasuredParams) code() Code { return p.Code }

// GroupUnknownParams are of a group of clients that did not run long enough to tell its effect.
type GroupUnknownParams struct {
	GroupBeside
	SampleS float64
}

func (GroupUnknownParams) code() Code { return NoEffect }
