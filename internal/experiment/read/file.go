package read

// File is an experiment as a person writes it: every field is optional but stores and phases, and a
// list makes an axis of the matrix. The tags are the names in the file; the descriptions go into
// the JSON Schema that editors use, and docs/experiment-file.md tells the same at more length.
type File struct {
	Name  string `yaml:"name" jsonschema_description:"The experiment's name, for reports and for the run directory."`
	About string `yaml:"about" jsonschema_description:"What question the experiment answers; its first line is the summary."`

	Stores   []StoreFile `yaml:"stores" jsonschema_description:"The arms: each a driver, or a table of driver, name, options, server, endpoints, worker, client, java. The null driver is added by itself."`
	Baseline string      `yaml:"baseline" jsonschema_description:"The store that ratios refer to and that runs a second time as the A/A arm. Default: the first store that is not refused in every cell."`

	Records     OneOrMany[Count]           `yaml:"records" jsonschema_description:"Records that the load phase stores. Default: 10000."`
	Keys        KeysFile                   `yaml:"keys" jsonschema_description:"What keys look like."`
	Values      ValuesFile                 `yaml:"values" jsonschema_description:"What values look like."`
	Threads     OneOrMany[TasksForm]       `yaml:"threads" jsonschema_description:"Threads that do operations, or {processes: N}: as many processes of one thread each, {processes: N, threads: M}: of M each. Default: 1."`
	Rate        OneOrMany[Count]           `yaml:"rate" jsonschema_description:"Operations a second of every measured phase that has no rate, capacity, replay, groups or think of its own (open load). 0: closed load. Default: as the phases say."`
	Handles     OneOrMany[HandlesForm]     `yaml:"handles" jsonschema_description:"How threads share handles: shared, per_thread, pool(N), per_operation, or async(N): one each, many driven by one OS thread, N operations on the way on each. Default: per_thread."`
	Entry       OneOrMany[EntryForm]       `yaml:"entry" jsonschema_description:"Which of a store's several servers requests enter by: one, all in turn, or prefer, those that have the key. Default: as the arm's option entry says."`
	Durability  OneOrMany[DurabilityForm]  `yaml:"durability" jsonschema_description:"Durability classes: D0, D1, D2(WINDOW), D3, D4. Default: the strongest that all stores reach."`
	CPUs        OneOrMany[CPUsForm]        `yaml:"cpus" jsonschema_description:"CPUs that a trial may use: a number of them, which ones such as 0-3, or {client: …, server: …} for each end by itself. Default: the kernel places both."`
	MemoryLimit OneOrMany[MemoryLimitForm] `yaml:"memory_limit" jsonschema_description:"Memory of a trial, page cache included: none, or bytes such as 512MiB. Default: none."`
	DiskQuota   OneOrMany[DiskQuotaForm]   `yaml:"disk_quota" jsonschema_description:"Disk of a trial: none, or bytes such as 2GiB. A phase that writes ends when the data directory has reached it. Default: none."`
	DiskQuotaBy DiskQuotaByForm            `yaml:"disk_quota_by" jsonschema_description:"stop: the phase ends when the data directory has reached disk_quota. mount: each trial gets a file system of that size, and the store meets a full disk. Default: stop."`
	Cases       []CaseFile                 `yaml:"cases" jsonschema_description:"An axis whose points set several of records, values.bytes, threads, agents, rate, handles, entry, cpus, memory_limit, disk_quota and durability at once."`

	Phases []PhaseFile `yaml:"phases" jsonschema_description:"What each trial does, one after the other."`

	Blocks        BlocksForm      `yaml:"blocks" jsonschema_description:"How often everything is repeated, each time in another random order; auto: at least 3 times, until the comparisons are decided. Default: 3; with time, blocks_max or smallest auto."`
	BlocksMax     *Count          `yaml:"blocks_max" jsonschema_description:"The most blocks of blocks: auto, default 10, or of detect, default 30."`
	Smallest      *ShareForm      `yaml:"smallest" jsonschema_description:"blocks: auto ends when each store that may be the best is shown to differ or to be within so much of the best. Default: 10%."`
	Detect        *ShareForm      `yaml:"detect" jsonschema_description:"The relative difference that stores are to be compared for: at least 5 blocks are run, and as many as show such a difference with a chance of 80% at their noise, up to blocks_max and within time. Default: none."`
	Time          DurationForm    `yaml:"time" jsonschema_description:"How long the run may take. Blocks, phases and cells are laid out to fit. Default: as long as it takes."`
	Repeats       *Count          `yaml:"repeats" jsonschema_description:"How often a trial that the machine disturbed is run again, at the end of its block. Default: 2."`
	Seed          *Count          `yaml:"seed" jsonschema_description:"All randomness is derived from it. Default: 1."`
	Verify        *bool           `yaml:"verify" jsonschema_description:"Check each value that is read. Default: true."`
	VerifyRecords *Count          `yaml:"verify_records" jsonschema_description:"How many records are read back at the end and checked against what was acknowledged. Default: 1000000, or 0 if verify is false."`
	Latency       LatencyForm     `yaml:"latency" jsonschema_description:"all: every operation is timed. sampled(N): one in N, 2 to 1000, for stores whose operations take less than a microsecond. Default: all."`
	Clock         ClockForm       `yaml:"clock" jsonschema_description:"The worker's clock: auto, tsc or monotonic. Default: auto."`
	Cache         CacheForm       `yaml:"cache" jsonschema_description:"warm: the page cache stays as the phases before left it. cold: before each measured phase the pages of the store's files are written back and dropped from it. Default: warm."`
	BusyMachine   BusyMachineForm `yaml:"busy_machine" jsonschema_description:"mark: a trial from which others took too much of the machine is not ranked. tell: it is, and the report says what was taken. Default: mark."`
	Crash         CrashFile       `yaml:"crash" jsonschema_description:"Cut stores off before they are measured, so that tables say which classes are proved: kind, cuts, file_systems, mount_options. assay crash FILE makes the cuts alone. Default: they are not cut off."`
	Agents        AgentsForm      `yaml:"agents" jsonschema_description:"Where agents are that do the measured phases: local:N, ssh://HOST, docker:N, join:N, or a list; a list of numbers of local ones, or {places: …, numbers: […]}, is an axis; {NAME: places, …} for groups. Default: none, this machine does."`
	Sample        SampleForm      `yaml:"sample" jsonschema_description:"Time between samples: auto or a duration of at least 10ms. Default: auto."`
	StepTimeout   DurationForm    `yaml:"step_timeout" jsonschema_description:"How long opening, syncing and closing may take, and a phase beyond its duration. Default: 60s."`

	Scales map[string]Changes `yaml:"scales" jsonschema_description:"Named sets of changes to this file: path: value."`
	Scale  string             `yaml:"scale" jsonschema_description:"The scale that is used. Default: none, the file as it stands."`
}

// StoreFile is an arm of the experiment. A driver's name alone is the short form.
type StoreFile struct {
	Driver    string            `yaml:"driver" jsonschema_description:"The driver's name; assay drivers lists them."`
	Name      string            `yaml:"name" jsonschema_description:"The arm's name. Default: the driver's name, or what the server's program reports to be, where one is named."`
	Options   map[string]string `yaml:"options" jsonschema_description:"Settings that differ from the driver's defaults."`
	Server    ServerFile        `yaml:"server" jsonschema_description:"start: Assay starts the server for each trial."`
	Endpoints []string          `yaml:"endpoints" jsonschema_description:"host:port of each server that is running already, or the absolute path of its Unix socket. Such a server is only ever loaded if it is named here."`
	Worker    []string          `yaml:"worker" jsonschema_description:"The command of another program that speaks the worker contract and has the driver."`
	Tuned     string            `yaml:"tuned" jsonschema_description:"The workload on which the options were tuned, as assay tune writes it: reports tell it beside arms that were not."`

	Client ClientFile `yaml:"client" jsonschema_description:"Of a client for the JVM: which version of the library."`
	Java   JavaFile   `yaml:"java" jsonschema_description:"Of a client for the JVM: options of its JVM."`
}

// ClientFile names the jars of a client for the JVM.
type ClientFile struct {
	Maven string `yaml:"maven" jsonschema_description:"group:artifact:version, which Maven resolves once with all that it needs."`
	Jar   string `yaml:"jar" jsonschema_description:"In place of maven: a jar, or a folder with all jars that the client needs."`
}

// JavaFile is what is asked of an arm's JVM.
type JavaFile struct {
	Heap      *Count        `yaml:"heap" jsonschema_description:"The largest heap in bytes, such as 256MiB (-Xmx). Default: the JVM's, a quarter of the memory."`
	Direct    *Count        `yaml:"direct" jsonschema_description:"The most memory of direct buffers in bytes, such as 64MiB (-XX:MaxDirectMemorySize). Default: as much as the heap."`
	Collector CollectorForm `yaml:"collector" jsonschema_description:"The garbage collector: serial, parallel, g1, z or shenandoah. Default: the JVM's choice."`
	Flags     []string      `yaml:"flags" jsonschema_description:"More options of the JVM, such as -Xlog:gc."`
}

// ServerFile says that Assay starts the server. The word start is the short form.
type ServerFile struct {
	Start    StartForm         `yaml:"start" jsonschema_description:"true: Assay starts the server on loopback for each trial, and stops it."`
	Program  string            `yaml:"program" jsonschema_description:"The server's binary, by its path or by a name in PATH. Default: the one that is installed."`
	Image    string            `yaml:"image" jsonschema_description:"The image of a container that the server runs in, by podman or docker. program is then its program in the image."`
	Build    *BuildFile        `yaml:"build" jsonschema_description:"The source of which the server's binary is built, in place of program. What was built of a commit is kept."`
	Count    *Count            `yaml:"count" jsonschema_description:"How many servers make the store, where the program can do that. Default: 1."`
	Replicas *Count            `yaml:"replicas" jsonschema_description:"How many further servers follow the first as replicas, where Assay can start these. Default: 0."`
	Options  map[string]string `yaml:"options" jsonschema_description:"Settings of the server that differ from its defaults; assay drivers NAME lists them."`
	Settings map[string]string `yaml:"settings" jsonschema_description:"Settings by the server's own names, where it takes any."`

	Each []map[string]string `yaml:"each" jsonschema_description:"Of several servers, what differs from options: a table for each, in their order."`
}

// BuildFile says of which source a server's binary is built, and how.
type BuildFile struct {
	Git     string `yaml:"git" jsonschema_description:"Directory of the Git repository, which is read and never written."`
	Commit  string `yaml:"commit" jsonschema_description:"The commit, as Git names it. Default: that of the variable ASSAY_COMMIT, which assay history bisect sets, or the one that is checked out."`
	Make    string `yaml:"make" jsonschema_description:"The line of a shell that builds it, in a checkout of its own. Default: the driver's, for Redis, memcached, etcd and PostgreSQL."`
	Program string `yaml:"program" jsonschema_description:"The binary that the line makes, by its path in the checkout. Default: the driver's."`
}

// CPUsFile pins the worker, and the servers that Assay starts, each by itself.
type CPUsFile struct {
	Client CPUListForm `yaml:"client" jsonschema_description:"CPUs of every worker: 0, 0-3 or 0,2."`
	Server CPUListForm `yaml:"server" jsonschema_description:"CPUs of every server that Assay starts."`
}

// KeysFile is what keys look like; see section 1.2 of docs/worker-contract.md.
type KeysFile struct {
	Format  KeyFormatForm `yaml:"format" jsonschema_description:"binary, decimal or ycsb. Default: binary."`
	Bytes   *Count        `yaml:"bytes" jsonschema_description:"Length of binary keys. Default: 16."`
	Prefix  *string       `yaml:"prefix" jsonschema_description:"Before the digits of decimal and ycsb keys. Default: user for ycsb, otherwise nothing."`
	Suffix  string        `yaml:"suffix" jsonschema_description:"After the digits of decimal and ycsb keys. Default: nothing."`
	Digits  *Count        `yaml:"digits" jsonschema_description:"Decimal keys are padded with zeros to so many digits. Default: 0, no padding."`
	First   *Count        `yaml:"first" jsonschema_description:"The number in the first record's decimal key. Default: 0."`
	Scatter bool          `yaml:"scatter" jsonschema_description:"Spread keys that are made one after the other over the whole key space. Default: false."`
}

// ValuesFile is what values look like.
type ValuesFile struct {
	Bytes     OneOrMany[Count]     `yaml:"bytes" jsonschema_description:"Length of every value; 64KiB is understood. Default: 100."`
	Sizes     SizesForm            `yaml:"sizes" jsonschema_description:"A mixture of lengths, in place of bytes: a list of bytes and weight, or {file: sizes.json} of CacheLib's form, with valSizeRange and valSizeRangeProbability."`
	Columns   []ColumnFile         `yaml:"columns" jsonschema_description:"In place of bytes: each value is a record of these columns. A store with columns of its own keeps them as such, any other as one value."`
	Queries   map[string]QueryFile `yaml:"queries" jsonschema_description:"Queries by name, for phases whose mix has query:NAME, count:NAME or delete:NAME."`
	Indexes   []IndexFile          `yaml:"indexes" jsonschema_description:"Columns that the store is to index. Stores without columns of their own are refused."`
	Repeated  *float64             `yaml:"repeated" jsonschema_description:"Share of each 64 bytes that is the same everywhere, 0 to 1: how well values compress. Default: 0.5."`
	PoolBytes *Count               `yaml:"pool_bytes" jsonschema_description:"Length of the pool that values are cut from, a power of two. Default: 256KiB, which fits a second-level cache; longer values want more, so that compressors do not meet the same bytes twice."`
}

// ColumnFile is one column of a record.
type ColumnFile struct {
	Name    string         `yaml:"name" jsonschema_description:"The column's name: letters, digits and _."`
	Value   *string        `yaml:"value" jsonschema_description:"Its text. {i} is the record's number; {i/55%100*2+1} divides, takes the remainder, multiplies and adds. {2,1 words aaa..zzz} is two words, then one, in turn."`
	Proof   *Count         `yaml:"proof" jsonschema_description:"In place of value: so many bytes that say which record and which write they are of, as plain values do."`
	Stamp   *Count         `yaml:"stamp" jsonschema_description:"In place of value: a number that changes with each write, one of so many. It needs a proof beside it. The operation modify updates the proof and the stamps alone."`
	Counter *bool          `yaml:"counter" jsonschema_description:"true: in place of value, a number that is 0 when the record is written, and to which the operation increment adds 1."`
	Type    ColumnTypeForm `yaml:"type" jsonschema_description:"text, integer or bytes. Default: text, of a proof bytes, of a stamp and a counter integer."`
}

// IndexFile asks for an index. A column's name alone is the short form.
type IndexFile struct {
	Column string        `yaml:"column" jsonschema_description:"The column's name."`
	Kind   IndexKindForm `yaml:"kind" jsonschema_description:"ordered, or token for a text whose words are found one by one. Default: ordered."`

	Descending bool `yaml:"descending" jsonschema_description:"The largest first, of an ordered index. Default: false."`
	Optional   bool `yaml:"optional" jsonschema_description:"A store that has no index of this kind does without it, and is shown so. Default: false, such a store is refused."`
}

// QueryFile is what a query or count is about: records, compared with the one that the order
// chooses.
type QueryFile struct {
	Column  string                     `yaml:"column" jsonschema_description:"In place of where: the column that is to be equal to that of the record that the order chooses."`
	Where   map[string]ConditionFile   `yaml:"where" jsonschema_description:"Conditions by column, all of which hold: equal, has, {range: SPAN}, {prefix: BYTES}, {has: WORD}."`
	Any     []map[string]ConditionFile `yaml:"any" jsonschema_description:"In place of where: several such tables, one of which holds at least."`
	Sort    string                     `yaml:"sort" jsonschema_description:"An integer column by which records come: COLUMN, or COLUMN desc. Default: any order."`
	Limit   *Count                     `yaml:"limit" jsonschema_description:"Most records that a query finds. Default: 10."`
	Columns []string                   `yaml:"columns" jsonschema_description:"The columns that are given of each record. Default: all."`
}

// ConditionFile compares a column with that of the record that the order chooses. The comparison's
// name alone is the short form.
type ConditionFile struct {
	Is     ComparisonForm `yaml:"is" jsonschema_description:"equal, or has: the column has the record's first word."`
	Range  *Count         `yaml:"range" jsonschema_description:"An integer from the record's own on, so many wide."`
	Prefix *Count         `yaml:"prefix" jsonschema_description:"A text that begins with so many bytes of the record's own."`
	Has    *Count         `yaml:"has" jsonschema_description:"A text that has the record's word of this number, counted from 0 and around."`
}

// SizeFile is one length of a mixture.
type SizeFile struct {
	Bytes  Count   `yaml:"bytes" jsonschema_description:"Length of the value."`
	Weight float64 `yaml:"weight" jsonschema_description:"How often it comes, relative to the other lengths."`
}

// PhaseFile is one step of a trial.
type PhaseFile struct {
	Name string `yaml:"name" jsonschema_description:"The phase's name."`
	Load bool   `yaml:"load" jsonschema_description:"Store every record once; the first phase only. Default: false."`
	WorkFile
	Replay     *ReplayFile   `yaml:"replay" jsonschema_description:"In place of a mix: recorded requests, at their times. A file's name, or a table."`
	Groups     []GroupFile   `yaml:"groups" jsonschema_description:"Groups of clients that work at the same time, in place of a mix."`
	Capacity   *CapacityFile `yaml:"capacity" jsonschema_description:"In place of a rate and a length: search for the highest rate at which objectives hold, such as {objective: p99 < 5ms}."`
	Unmeasured bool          `yaml:"unmeasured" jsonschema_description:"Run, count and check it, but keep it out of the tables: a warm-up. Default: false."`
	Faults     []FaultFile   `yaml:"faults" jsonschema_description:"What happens to servers meanwhile: {at: 10s, kill: node 2}, {at: 25s, start: node 2}; freeze, cut and reset likewise; {at: 10s, delay: 20ms ± 5ms, node: 2}; bandwidth, drop_connections, memory, cpu and slow_disk likewise."`
	Optional   bool          `yaml:"optional" jsonschema_description:"A store that can't do the phase leaves it out, and is shown so. Default: false, such a store is refused in the whole cell."`
}

// WorkFile is what the clients of a phase, or of one of its groups, do.
type WorkFile struct {
	Mix        map[string]float64 `yaml:"mix" jsonschema_description:"Operations and their weights."`
	Request    []StepForm         `yaml:"request" jsonschema_description:"In place of mix: operations on one key that are done one after the other and timed as one, such as [read, {update: 600}]. A number is the length of the value, adds: the items that the write adds to the record."`
	Order      OrderFile          `yaml:"order" jsonschema_description:"Which key comes next: a distribution's name, or a table. Default: sequential for loads and pure inserts, otherwise uniform."`
	Batch      *Count             `yaml:"batch" jsonschema_description:"Writes go in batches of so many. Default: 1, one by one."`
	Append     *AppendFile        `yaml:"append" jsonschema_description:"What the operation append adds to a value. Default: up to 4 parts of 100 bytes of each thread."`
	OnMiss     OnMissForm         `yaml:"on_miss" jsonschema_description:"fill: a read that finds nothing puts a value, as who reads through a cache does. Default: nothing is put."`
	Backend    DurationForm       `yaml:"backend" jsonschema_description:"on_miss: how long a fill waits before it puts: what the system behind the cache takes. Default: not at all."`
	MultiRead  *Count             `yaml:"multi_read" jsonschema_description:"Reads go in calls of so many keys, of stores that read several in one call. Default: 1, one by one."`
	Scan       *ScanFile          `yaml:"scan" jsonschema_description:"How long scans are."`
	Query      *QueryFile         `yaml:"query" jsonschema_description:"What queries and counts look for."`
	For        DurationForm       `yaml:"for" jsonschema_description:"How long it lasts."`
	Operations *Count             `yaml:"operations" jsonschema_description:"How many operations it does, over all threads. With for as well, it ends with the first of the two."`
	Rate       *RateForm          `yaml:"rate" jsonschema_description:"Operations a second over all threads, whether the store keeps up or not (open load): a number, 1000..20000 for a ramp over the whole phase, or a list of segments. Default: none, closed load."`
	Arrivals   ArrivalsForm       `yaml:"arrivals" jsonschema_description:"How the operations of a rate are spread in time: poisson, as independent users come, or constant, evenly. Default: poisson."`
	Threads    *ClientsForm       `yaml:"threads" jsonschema_description:"Its threads, or {processes: N}, or a list of steps such as {at: 8, for: 10s}, one after the other. Default: those of the cell."`
	Think      *ThinkForm         `yaml:"think" jsonschema_description:"Closed load: for how long each thread pauses before each operation: a duration, or {exponential: 10ms}, as independent users think. Default: not at all."`
	TTL        *TTLForm           `yaml:"ttl" jsonschema_description:"After what time the store is to remove the values that inserts, updates and upserts write, of stores that do so by themselves: a duration, or a mixture such as [{after: 30s, weight: 90}, {after: none, weight: 10}]. Default: never."`
	Milestones *Count             `yaml:"milestones" jsonschema_description:"Report when each thread had done each so many operations. Default: it is not reported."`
}

// GroupFile is a group of clients: one of several that work in a phase at the same time.
type GroupFile struct {
	Name string       `yaml:"name" jsonschema_description:"The group's name."`
	From DurationForm `yaml:"from" jsonschema_description:"How long after the phase's start it begins. Default: at once."`
	// Agents is a name of the file's agents.
	Agents string `yaml:"agents" jsonschema_description:"The agents that do it, by a name that the file's agents have. Default: all."`
	WorkFile
}

// OrderFile is which key comes next. A distribution's name alone is the short form.
type OrderFile struct {
	Distribution  DistributionForm `yaml:"distribution" jsonschema_description:"The distribution's name."`
	Theta         *float64         `yaml:"theta" jsonschema_description:"Exponent of zipfian, scrambled_zipfian and latest. Default: 0.99."`
	HotRecords    *float64         `yaml:"hot_records" jsonschema_description:"hotspot: share of the records that are hot. Default: 0.2. exponential: share of the records, from the first on, to which hot_operations go. Default: 0.8571."`
	File          *string          `yaml:"file" jsonschema_description:"popularity: a file of CacheLib's form, with popularityBuckets (numbers of keys) and popularityWeights (how often one of each comes)."`
	Buckets       []BucketFile     `yaml:"buckets" jsonschema_description:"popularity: in place of a file, how many keys are about equally popular, and how often one of them comes, hottest first."`
	Shift         *ShiftFile       `yaml:"shift" jsonschema_description:"What is popular moves to other records meanwhile, such as {every: 30s, by: 10%}: of phases with a rate."`
	HotOperations *float64         `yaml:"hot_operations" jsonschema_description:"hotspot: share of the operations that go to the hot records. Default: 0.8."`
}

// BucketFile is some keys that are about equally popular.
type BucketFile struct {
	Keys   Count   `yaml:"keys" jsonschema_description:"How many keys."`
	Weight float64 `yaml:"weight" jsonschema_description:"How often one of them comes, relative to the other buckets."`
}

// ShiftFile is how what is popular moves.
type ShiftFile struct {
	Every DurationForm `yaml:"every" jsonschema_description:"After what time a part of the records change their popularity."`
	By    PartForm     `yaml:"by" jsonschema_description:"How large that part is: 100%, or a whole fraction of it such as 50%, 10% or 1%."`
}

// AppendFile is what appends add to values.
type AppendFile struct {
	Bytes *Count `yaml:"bytes" jsonschema_description:"Length of what one append adds. Default: 100."`
	Parts *Count `yaml:"parts" jsonschema_description:"How many parts a thread appends to a value, behind an update with which the value begins anew. Default: 4."`
}

// ScanFile is how long scans are.
type ScanFile struct {
	Min          *Count               `yaml:"min" jsonschema_description:"Fewest records of a scan. Default: 1."`
	Max          *Count               `yaml:"max" jsonschema_description:"Most records of a scan. Default: 100."`
	Distribution ScanDistributionForm `yaml:"distribution" jsonschema_description:"uniform or zipfian. Default: uniform."`
}

// CaseFile is one point of an axis that sets several parameters at once.
type CaseFile struct {
	Name    string
	Changes Changes
}

// Changes are values by path, in the order of the file: what scales, cases and --set do.
type Changes []change

type change struct {
	path  string
	at    place // of the path
	value *node
}

// The fields that have a short form, and the field that a lone scalar then stands for.
func (StoreFile) shortForm() string     { return "driver" }
func (OrderFile) shortForm() string     { return "distribution" }
func (IndexFile) shortForm() string     { return "column" }
func (ConditionFile) shortForm() string { return "is" }

func (ServerFile) shortForm() string { return "start" }
func (ReplayFile) shortForm() string { return "file" }

// The lists whose members a path names by their name.
func (s StoreFile) memberName(n *node) string {
	if name := n.field("name"); name != nil {
		return name.text
	}
	if driver := n.field("driver"); driver != nil {
		return driver.text
	}
	return n.text
}
func (PhaseFile) memberName(n *node) string { return n.textOf("name") }
func (GroupFile) memberName(n *node) string { return n.textOf("name") }
func (CaseFile) memberName(n *node) string  { return n.textOf("name") }

// namedMember is an element of a list that a path names by its name.
type namedMember interface{ memberName(n *node) string }
