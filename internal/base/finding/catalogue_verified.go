package finding

var _ = register(
	Entry{Example: VerifiedParams{Values: 460000, Right: 460000, ReadBack: 12000},
		Says: `{{if .values}}Verified {{if ge .values 1000000000}}{{number .values}} values{{else}}{{plural .values "value" ""}}{{end}}: {{if eq .values .right}}all correct{{else}}{{count .right}} correct{{end}}` +
			`{{if .old}}; {{plural .old "sampled read" ""}} returned an overwritten value{{end}}` +
			`{{if .missed}}; {{plural .missed "read" ""}} did not find a stored record{{end}}` +
			`{{if .read_back}}; {{count .read_back}}{{if .of}} of {{count .of}} records sampled (memory has no room for more) and{{end}} read back: {{if .not_judged}}{{count .read_right}} right, {{end}}{{count .lost}} lost` +
			`{{if .stale}}, {{count .stale}} stale{{end}}{{if .evicted}}, {{count .evicted}} evicted{{if .store_evicted}} ({{count .store_evicted}} by the servers' count){{end}}{{end}}` +
			`{{if .not_read}}, {{count .not_read}} not read{{end}}` +
			`{{if .not_judged}}, {{count .not_judged}} not judged (a write or read of them failed, a read may have filled them, or their value has no version){{end}}{{end}}.{{else}}No value was verified.{{end}}` +
			`{{if .not_checked}} In {{count .not_checked}} of {{plural .trials "trial" ""}} no write was verified: ` +
			`data loss would go undetected.{{end}}`,
		Also: []Parameters{
			VerifiedParams{Values: 460000, Right: 459990, ReadBack: 12000, Lost: 3, Stale: 2, Evicted: 300,
				NotRead:    4962,
				NotChecked: 2, Trials: 12},
			VerifiedParams{Values: 700123, Right: 700100, Old: 23, Missed: 9},
			VerifiedParams{Values: 577831, Right: 577831, ReadBack: 140000, Evicted: 25074, StoreEvicted: 31200},
			VerifiedParams{Values: 13976, Right: 13976, ReadBack: 40000, ReadRight: 7053, NotJudged: 32947},
			VerifiedParams{Values: 3246866206, Right: 3246866206, ReadBack: 770000},
			VerifiedParams{Values: 1700000, Right: 1700000, ReadBack: 1700000, Of: 100000000},
			VerifiedParams{},
		}},
	Entry{Example: ExpiredParams{OnTime: 120441, Over: 120441, LatestNS: 0.98e9},
		Says: `{{if .over}}Expired on time: {{count .on_time}} of {{count .over}}{{if .latest_ns}}; latest {{latency .latest_ns}} after its time{{end}}.{{else}}No read came after its record's TTL.{{end}}` +
			`{{if .early}} {{if .evicted}}Of {{plural .early "record" ""}} that {{if eq .early 1}}was{{else}}were{{end}} gone before their time, the stores say that they evicted {{count .evicted}}.` +
			`{{else}}{{plural .early "read" ""}} found a record gone before its time{{if .earliest_ns}}, by up to {{latency .earliest_ns}}{{end}}.{{end}}{{end}}`,
		Also: []Parameters{ExpiredParams{OnTime: 900, Over: 1000, LatestNS: 2.1e9, Early: 12, EarliestNS: 3e9},
			ExpiredParams{OnTime: 1000, Over: 1000, Early: 300, Evicted: 412}, ExpiredParams{}}},
	Entry{Example: ProofsParams{Class: "D3", Proved: []string{"bbolt (50 on ext4)", "pebble (12 on ext4)"}, Claimed: []string{"badger"}},
		Says: `{{if .proved}}{{.class}} kept in {{if .kills}}kills of the process{{else}}power cuts{{end}}: {{join .proved}}.{{if .claimed}} Not cut, the driver's claim: {{join .claimed}}.{{end}}` +
			`{{else}}{{.class}}: {{if .kills}}no kill{{else}}no power cut{{end}} was tried{{if .elsewhere}} on what ran here{{end}} (assay crash).{{end}}` +
			`{{if .elsewhere}} Cut as something else, and claimed here: {{join .elsewhere}}.{{end}}` +
			`{{if .per_sync}} Syncs were counted: at least one for {{if eq .per_sync 1}}each acknowledged write{{else}}every {{count .per_sync}} acknowledged writes{{end}}.{{end}}`,
		Also: []Parameters{ProofsParams{Class: "D3", Claimed: []string{"badger"}},
			ProofsParams{Class: "D1", Kills: true, Proved: []string{"pebble (200 on ext4)"}, Claimed: []string{"badger"}},
			ProofsParams{Class: "D3", Claimed: []string{"badger", "bbolt"}, Elsewhere: []string{"bbolt (another program, other options)"}},
			ProofsParams{Class: "D3", Claimed: []string{"badger"}, PerSync: 1},
			ProofsParams{Class: "D3", Claimed: []string{"badger"}, PerSync: 16}}},
	Entry{Example: ClassProvedParams{Title: "survives a power cut (D3)", Cuts: 200, FileSystems: []string{"ext4"}, Proved: 3, Of: 3},
		Says: `{{.title}}, {{if not .proved}}claimed by the {{if eq .of 1}}driver{{else}}drivers{{end}}{{else}}{{if ge .cuts 50}}proved by{{else}}kept in{{end}} {{plural .cuts (or (and .kills "kill") "cut") ""}}{{if .records}}, {{number .records}} records read back,{{end}} on {{join .file_systems}}{{if ne .proved .of}} for {{.proved}} of {{.of}} stores{{end}}{{end}}`,
		Also: []Parameters{ClassProvedParams{Title: "survives a power cut (D3)", Cuts: 20, FileSystems: []string{"ext4"}, Proved: 1, Of: 3},
			ClassProvedParams{Title: "survives a crash of the process (D1)", Cuts: 200, Kills: true, Records: 1240000, FileSystems: []string{"ext4"}, Proved: 1, Of: 3},
			ClassProvedParams{Title: "survives a power cut (D3)", Of: 3}, ClassProvedParams{Title: "survives a power cut (D3)", Of: 1}}},
)

// ClassProvedParams is a table's title: what cuts have shown of the class, or that it is claimed.
// Fewer than 50, within which stores that are known to lose were refuted, are called no proof.
type ClassProvedParams struct {
	Title       string
	Cuts        int    // the fewest of a store
	Kills       bool   // and no power cuts
	Records     uint64 // that were read back after the cuts of that store, over all of them
	FileSystems []string
	Proved, Of  int // stores
}

func (ClassProvedParams) code() Code { return "class-proved" }

// VerifiedParams is what of the data was checked, over all trials of stores.
type VerifiedParams struct {
	Values, Right uint64 // that reads returned, and those that were correct
	// reads of phases: sampled ones that returned what was overwritten, and those that did not find
	// a record
	Old, Missed                             uint64
	ReadBack, Lost, Stale, Evicted, NotRead uint64 // records of the final check
	Of                                      uint64 `param:"omitempty"` // records that those read back were drawn from, where memory had room for no more
	ReadRight, NotJudged                    uint64 `param:"omitempty"` // of those read back, where some could not be judged
	// records that the stores count as evicted, of all trials with such a record
	StoreEvicted       uint64
	Trials, NotChecked int // trials that acknowledged writes of which no value was looked at
}

// ExpiredParams is what reads found of records with a TTL, over all trials of stores.
type ExpiredParams struct {
	OnTime, Over uint64 // reads after their record's time, and those of them that were on time
	LatestNS     float64
	Early        uint64 // reads that found nothing within their record's time
	EarliestNS   float64
	Evicted      uint64 // by the stores' count
}

func (ExpiredParams) code() Code { return "expired" }

// ProofsParams is what cuts have shown of a class, of the stores that the run has in it.
type ProofsParams struct {
	Class           string
	Kills           bool     // of the process, and no power cuts
	Proved, Claimed []string // names of arms; of those proved, with the number of cuts
	Elsewhere       []string // of those claimed, the arms of which something near was cut, with what differs
	// writes that one counted sync may have covered, at most, in the arms that are claimed; 0: not
	// counted
	PerSync int
}

func (ProofsParams) code() Code { return "proofs" }

func (VerifiedParams) code() Code { return "verified" }
