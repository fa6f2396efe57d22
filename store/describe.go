package store

import (
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Description is what a driver says of itself. It is printed by `assay drivers`, checked by the
// conformance kit, and used to refuse an experiment before anything runs.
type Description struct {
	Name    string `json:"name"`    // lower case, as written in an experiment: "bbolt"
	Summary string `json:"summary"` // half a line: what kind of store it is
	Library string `json:"library"` // module path or package of the library; "" if there is none
	Version string `json:"version"` // the library's version; the worker fills it in from build info when empty
	Licence string `json:"licence"` // SPDX identifier

	// Where the store lives: embedded, memory, server, none.
	Kind Kind `json:"kind"`

	// The classes that the driver can open the store in, weakest first, and how each is reached, in the
	// library's words. The first is the one that bulk loads use.
	Durability []DurabilityClaim `json:"durability"`

	// The settings that a server runs with decide which of the classes it can be
	// opened in; any other is refused. Loads are then done in the class that is measured, so that
	// records of one class need not be there in another.
	ServerSetsClass bool `json:"server_sets_class,omitempty"`

	// Settings of the store that an experiment may change.
	Options []Option `json:"options,omitempty"`

	// One handle may be used by many threads at once.
	HandlesShareable bool `json:"handles_shareable"`
	// How many handles may be open at once; 0: no limit but memory.
	HandlesMax int `json:"handles_max,omitempty"`

	// Several processes may have the store open at once, and each sees what the others have
	// written. A worker claims it for its servers' drivers, if it can do a part of a trace: section 4.1
	// of docs/worker-contract.md.
	Processes bool `json:"processes,omitempty"`
	Hosted

	// An endpoint may be the absolute path of a Unix socket in place of host:port. Absent: it is refused.
	UnixSockets bool `json:"unix_sockets,omitempty"`

	// How many connections to each of its servers an open store holds beside those
	// of its handles: for looking at the server, for example.
	ConnectionsOwn int `json:"connections_own,omitempty"`
	// How many connections to each server a handle holds; 0: one.
	ConnectionsEach int `json:"connections_each,omitempty"`
	// A handle that several threads share holds one connection more for each further one.
	HandlePools bool `json:"handle_pools,omitempty"`

	// The option, an int, that connections_each follows where it is above 0: the maximum of a client's own
	// pool. "": none does.
	ConnectionsOption string `json:"connections_option,omitempty"`

	KeyBytesMin   int `json:"key_bytes_min,omitempty"`   // 0: the empty key is a key
	KeyBytesMax   int `json:"key_bytes_max,omitempty"`   // 0: no limit but memory
	ValueBytesMin int `json:"value_bytes_min,omitempty"` // 0: the empty value is a value
	ValueBytesMax int `json:"value_bytes_max,omitempty"` // 0: no limit but memory
	// The option, an int or bytes, that value_bytes_max follows, and is as far below as below its default:
	// by nothing where records have one width, by a header where they must fit into a file. "": none. It may
	// be a choice, of which some have a limit of their own: a protocol, for example.
	ValueBytesOption string `json:"value_bytes_option,omitempty"`
	// Of an option of type choice: the limits of those choices that have another one.
	ValueBytesChoices map[string]int `json:"value_bytes_choices,omitempty"`
	// Keys must be printable ASCII without spaces, as in memcached's protocol; binary keys
	// are out.
	KeyText bool `json:"key_text,omitempty"`
	// A regular expression, of RE2, that the whole of a key matches where it is not any
	// text: of the tokens of a subject, for example. "": there is none.
	KeyPattern string `json:"key_pattern,omitempty"`
	// Keys are positions in an array, which is as long as the largest of them asks for:
	// they must be binary and unscattered, counted from 0 on.
	KeyNumbers bool `json:"key_numbers,omitempty"`

	// About what an embedded store sets aside on disk from its first write on,
	// with default options and however small its data: logs that it lays out in advance, empty
	// files. As measured; 0: not known. The estimate of a trial's disk adds it.
	FixedDiskBytes int64 `json:"fixed_disk_bytes,omitempty"`

	// Others see all of a batch or nothing of it.
	BatchAtomic bool `json:"batch_atomic,omitempty"`
	BatchMax    int  `json:"batch_max,omitempty"` // records in one batch; 0: no limit but memory
	// Bytes in one batch, of which each record takes its key, its value and 128 ([BatchRecordBytes]): loads
	// go in smaller batches, and measured batches above it are refused. 0: no limit but memory.
	BatchBytesMax int64 `json:"batch_bytes_max,omitempty"`
	// The option, of type bytes, that batch_bytes_max is in proportion to: it is then that of the option's
	// default. "": none is.
	BatchBytesOption string `json:"batch_bytes_option,omitempty"`

	// Keys in one multi_read; 0: no limit but memory.
	MultiGetMax int `json:"multi_get_max,omitempty"`

	// An append makes a record of its part where there is none. Absent: it does nothing then.
	AppendMakes bool `json:"append_makes,omitempty"`

	// A text column may have an index of kind token. Absent: define refuses it.
	TokenIndexes bool `json:"token_indexes,omitempty"`

	// A get, a scan, a put, a delete or a batch may end in [ErrConflict] where
	// other threads write neighbouring records at the same time (a deadlock's victim, for example).
	// A write was then not done, and the driver does not try again. Without the claim none of them
	// ends so.
	WriteConflicts bool `json:"write_conflicts,omitempty"`

	// A read may return an older value than the newest acknowledged one, as of a replica
	// or a weak consistency level. Stale reads are then measured and reported, and no fault.
	Eventual bool `json:"eventual,omitempty"`
	// For how long at most, in ns, if it is eventual: from then on a read returns what was acknowledged, and
	// the final check waits so long. 0: there is no such promise.
	EventualWithinNS int64 `json:"eventual_within_ns,omitempty"`

	// How the store keeps TTLs. Nil: it has none.
	Expiry *Expiry `json:"expiry,omitempty"`

	// The store keeps the indexes that it is asked for, and finds no record by them. It
	// says so of every query.
	IndexesIdle bool `json:"indexes_idle,omitempty"`

	// Choices of options with which the description differs.
	Variants []Variant `json:"variants,omitempty"`

	// What an open store can do. In Go it is what [Probe] tells of the types of the store and its handle,
	// so that no store need be open.
	Abilities Abilities `json:"abilities"`

	// A warning of what a user must know before trusting a figure of this store; "" if there is
	// nothing.
	Note string `json:"note,omitempty"`
}

// Hosted is what the worker that hosts a driver says of itself beside it: drivers leave it as it is.
type Hosted struct {
	// The worker reports how long each take of a handle took, as a histogram: section 3.2
	// of docs/worker-contract.md.
	HandleTimes bool `json:"handle_times,omitempty"`
	// The worker can time one operation in so many (section 3.3).
	LatencySampled bool `json:"latency_sampled,omitempty"`
	// The worker does read_or_fill (section 2.4): its reads can put a value where they find none.
	Fills bool `json:"fills,omitempty"`
	// The worker can make keys of several lengths (section 1.2).
	KeyLengths bool `json:"key_lengths,omitempty"`
	// The worker's threads can pause before their operations (section 2.2).
	Pauses bool `json:"pauses,omitempty"`
	// The worker can record what a scan, query or count found, with how far each thread was (section 3.5).
	FindsRecorded bool `json:"finds_recorded,omitempty"`
}

// Kind is where a store lives.
type Kind string

const (
	Embedded Kind = "embedded" // in the worker's process, with files in Config.Directory
	Memory   Kind = "memory"   // in the worker's process, without files
	Server   Kind = "server"   // reached over Config.Endpoints
	None     Kind = "none"     // the null driver: there is no store
)

// Network returns the network of an endpoint as [net.Dial] takes it: "unix" of an absolute path, which
// is that of a Unix socket, and "tcp" of host:port.
func Network(endpoint string) string {
	if strings.HasPrefix(endpoint, "/") {
		return "unix"
	}
	return "tcp"
}

// DurabilityClaim is one class and the settings that reach it. It is claimed until a power-cut rig
// has measured it.
type DurabilityClaim struct {
	// D0, D1, D2, D3 or D4; a D2's window comes apart, in loss_window_ns of open.
	Class Durability `json:"class"`
	How   string     `json:"how"` // "Options.NoSync = true"
}

// Expiry is how exactly a store keeps the time that a value is to live. Before the time less early_ns a
// value that is gone is a loss; after the time and late_ns one that is there is late.
type Expiry struct {
	UnitNS  int64 `json:"unit_ns"`            // times are multiples of it
	LeastNS int64 `json:"least_ns,omitempty"` // the shortest time; 0: one unit
	MostNS  int64 `json:"most_ns,omitempty"`  // the longest time; 0: no limit
	EarlyNS int64 `json:"early_ns,omitempty"` // by so much a value may be gone too early: of whole seconds, one
	LateNS  int64 `json:"late_ns,omitempty"`  // by so much it may be there too long: the tick of what removes it
}

// Refuse says why a value can't live for a time; "": it can.
func (x *Expiry) Refuse(ttl time.Duration) string {
	least := max(x.LeastNS, x.UnitNS)
	switch {
	case int64(ttl) < least:
		return fmt.Sprintf("%v is less than %v, the shortest time that it takes", ttl, time.Duration(least))
	case x.MostNS > 0 && int64(ttl) > x.MostNS:
		return fmt.Sprintf("%v is more than %v, the longest time that it takes", ttl, time.Duration(x.MostNS))
	case x.UnitNS > 0 && int64(ttl)%x.UnitNS != 0:
		return fmt.Sprintf("%v is no multiple of %v, its unit", ttl, time.Duration(x.UnitNS))
	}
	return ""
}

// Variant is what a description says with one choice of an option, of type choice, where that is
// something else: another protocol, for example. What is true or above 0 stands in place of the rest.
type Variant struct {
	Option      string `json:"option"`                  // its name
	Choice      string `json:"choice"`                  // its value
	KeyText     bool   `json:"key_text,omitempty"`      // as of the description
	KeyBytesMax int    `json:"key_bytes_max,omitempty"` // as of the description; 0: as without it
	Eventual    bool   `json:"eventual,omitempty"`      // as of the description
	// It takes the ability multi_get away: its handles are no [MultiGetter].
	NoMultiGet bool `json:"no_multi_get,omitempty"`
}

// Abilities are what an open store can do beyond get, put and delete.
type Abilities struct {
	Batch bool `json:"batch"` // writes several records as one operation
	Scan  bool `json:"scan"`  // walks the keys in order
	Add   bool `json:"add"`   // stores a value only where none is, in one step of the store's own
	// Replaces a value only where it is still the old one, in one step of the store's own.
	CompareAndSwap bool `json:"compare_and_swap"`
	Sync           bool `json:"sync"`              // can be told to make everything acknowledged durable
	Inspect        bool `json:"inspect"`           // tells its own counters
	Records        bool `json:"records,omitempty"` // keeps columns as such
	Query          bool `json:"query,omitempty"`   // finds records by a column
	Count          bool `json:"count,omitempty"`   // counts what a query would find
	// Updates some columns of a record in one step of the store's own.
	Modify      bool `json:"modify,omitempty"`
	DeleteQuery bool `json:"delete_query,omitempty"` // deletes what a query finds
	Explain     bool `json:"explain,omitempty"`      // tells how it answers a query
	// Adds to a column of a record in one step of the store's own.
	Increment bool `json:"increment,omitempty"`
	// One thread can drive many connections: `handles: async(N)`.
	Async bool `json:"async,omitempty"`
	// Deletes records by the begin of their keys, many in one call.
	DeletePrefix bool `json:"delete_prefix,omitempty"`
	Expire       bool `json:"expire,omitempty"`    // removes a value by itself after a time
	MultiGet     bool `json:"multi_get,omitempty"` // reads several records in one call
	Touch        bool `json:"touch,omitempty"`     // gives a record another TTL, in one step of the store's own
	Append       bool `json:"append,omitempty"`    // adds to a value, in one step of the store's own
	// Replaces a value and returns the old one, in one step of the store's own.
	GetAndSet bool `json:"get_and_set,omitempty"`
}

// List returns the names of the abilities that are there.
func (a Abilities) List() []string {
	var names []string
	for _, ability := range []struct {
		name string
		has  bool
	}{
		{"batch", a.Batch}, {"scan", a.Scan}, {"add", a.Add}, {"compare_and_swap", a.CompareAndSwap},
		{"sync", a.Sync}, {"inspect", a.Inspect}, {"records", a.Records}, {"query", a.Query}, {"count", a.Count},
		{"modify", a.Modify}, {"delete_query", a.DeleteQuery}, {"increment", a.Increment}, {"explain", a.Explain}, {"async", a.Async},
		{"delete_prefix", a.DeletePrefix},
		{"expire", a.Expire}, {"multi_get", a.MultiGet}, {"touch", a.Touch}, {"append", a.Append},
		{"get_and_set", a.GetAndSet},
	} {
		if ability.has {
			names = append(names, ability.name)
		}
	}
	return names
}

// Probe returns the abilities of an open store and one of its handles.
func Probe(s Store, h Handle) Abilities {
	var a Abilities
	_, a.Batch = h.(Batcher)
	_, a.Scan = h.(Scanner)
	_, a.Add = h.(Adder)
	_, a.CompareAndSwap = h.(CompareAndSwapper)
	_, a.Sync = s.(Syncer)
	_, a.Inspect = s.(Inspector)
	_, a.Records = s.(Definer)
	_, a.Query = h.(Querier)
	_, a.Count = h.(Counter)
	_, a.Modify = h.(Modifier)
	_, a.DeleteQuery = h.(QueryDeleter)
	_, a.Explain = h.(Explainer)
	_, a.Increment = h.(Incrementer)
	_, a.Async = s.(Asynchronous)
	_, a.DeletePrefix = h.(PrefixDeleter)
	_, a.Expire = h.(Expirer)
	_, a.MultiGet = h.(MultiGetter)
	_, a.Touch = h.(Toucher)
	_, a.Append = h.(Appender)
	_, a.GetAndSet = h.(GetSetter)
	return a
}

// Option is one setting of a store that an experiment may change.
type Option struct {
	Name string `json:"name"` // lower_case, ends in its unit: "cache_bytes"
	// bool, int, bytes, duration, choice or string.
	Type OptionType `json:"type"`
	// As text: what the library's own default is, unless the help says otherwise. "" of a string: unset.
	Default string   `json:"default"`
	Help    string   `json:"help"`              // what it does, for people
	Choices []string `json:"choices,omitempty"` // of type choice
	// Which values `assay tune` may try: "log 8MiB 1GiB", "linear 1 16" or "list none snappy". "":
	// the option is not tuned. An option that changes what an acknowledged write survives never is.
	Tune string `json:"tune,omitempty"`
}

// OptionType is the type of an option's value.
type OptionType string

const (
	Bool     OptionType = "bool"
	Int      OptionType = "int"
	Bytes    OptionType = "bytes" // a number of bytes; "64MiB" is understood
	Duration OptionType = "duration"
	Choice   OptionType = "choice"
	String   OptionType = "string"
)

// Options are the checked values of a driver's options, by name.
type Options map[string]string

// Bool and the other getters panic on a name that the driver did not declare or a value of another type: [Resolve]
// has checked both, so that it can only be a mistake in the driver.
func (o Options) Bool(name string) bool {
	v, err := strconv.ParseBool(o.must(name))
	return no(name, v, err)
}
func (o Options) Int(name string) int { v, err := strconv.Atoi(o.must(name)); return no(name, v, err) }
func (o Options) Bytes(name string) int64 {
	v, err := ParseBytes(o.must(name))
	return no(name, v, err)
}
func (o Options) Choice(name string) string { return o.must(name) }
func (o Options) String(name string) string { return o.must(name) }
func (o Options) Duration(name string) time.Duration {
	v, err := time.ParseDuration(o.must(name))
	return no(name, v, err)
}

func (o Options) must(name string) string {
	v, ok := o[name]
	if !ok {
		panic("store: option " + name + " was read but not declared in Describe")
	}
	return v
}

func no[T any](name string, v T, err error) T {
	if err != nil {
		panic(fmt.Sprintf("store: option %s: %v", name, err))
	}
	return v
}

// Check says what is wrong with an option's value as text; nil if nothing.
func (o Option) Check(value string) error {
	var err error
	switch o.Type {
	case Bool:
		if value != "true" && value != "false" {
			err = fmt.Errorf("expected true or false, got %q", value)
		}
	case Int:
		if _, e := strconv.Atoi(value); e != nil {
			err = fmt.Errorf("expected a whole number, got %q", value)
		}
	case Bytes:
		_, err = ParseBytes(value)
	case Duration:
		if _, e := time.ParseDuration(value); e != nil {
			err = fmt.Errorf("expected a duration such as 100ms or 5s, got %q", value)
		}
	case Choice:
		for _, c := range o.Choices {
			if c == value {
				return nil
			}
		}
		err = fmt.Errorf("expected one of %s, got %q", strings.Join(o.Choices, ", "), value)
	}
	return err
}

// Resolve fills in the defaults and checks the given values.
func Resolve(declared []Option, given map[string]string) (Options, error) {
	options := make(Options, len(declared))
	for _, o := range declared {
		options[o.Name] = o.Default
	}
	for name, value := range given {
		if _, ok := options[name]; !ok {
			return nil, fmt.Errorf("unknown option %q", name)
		}
		options[name] = value
	}
	for _, o := range declared {
		if err := o.Check(options[o.Name]); err != nil {
			return nil, fmt.Errorf("option %s: %w", o.Name, err)
		}
	}
	return options, nil
}

// byteUnits has the longer suffixes first, so that "MiB" is not taken for "B".
var byteUnits = []struct {
	suffix string
	bytes  int64
}{
	{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
	{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"KB", 1e3}, {"B", 1},
}

// decimal bounds the exponent, so that no short text is a number of a million digits.
var decimal = regexp.MustCompile(`^([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,2})?$`)

// bytesEnd is above all numbers of bytes that [ParseBytes] takes: half of what an int64 holds.
var bytesEnd = big.NewRat(1<<62, 1)

// ParseBytes reads a whole number of bytes: "4096", "64MiB", "1.5GB". KiB, MiB, GiB, TiB are powers
// of 1024; kB, MB, GB, TB powers of 1000. A fraction of a byte ("0.001KiB") is an error: rounded,
// it would be another number than was written.
func ParseBytes(text string) (int64, error) {
	number, factor := strings.TrimSpace(text), int64(1)
	for _, u := range byteUnits {
		if rest, ok := strings.CutSuffix(number, u.suffix); ok {
			number, factor = strings.TrimSpace(rest), u.bytes
			break
		}
	}
	bytes, ok := new(big.Rat), decimal.MatchString(number)
	if ok {
		bytes, ok = bytes.SetString(number)
	}
	if !ok || bytes.Mul(bytes, big.NewRat(factor, 1)).Cmp(bytesEnd) >= 0 {
		return 0, fmt.Errorf("expected a number of bytes such as 4096, 64MiB or 1.5GB, got %q", text)
	}
	if !bytes.IsInt() {
		return 0, fmt.Errorf("expected a whole number of bytes such as 4096, 64MiB or 1.5GB, got %q, which has a fraction of a byte", text)
	}
	return bytes.Num().Int64(), nil
}

// WithOptions returns what the description says of a store that is opened with these options: a
// limit that follows one of them is that one's value, and what differs with a choice is as with it.
// The error is that of [Resolve], or says that there is no such option.
func (d Description) WithOptions(given map[string]string) (Description, error) {
	if d.ValueBytesOption == "" && d.ConnectionsOption == "" && d.BatchBytesOption == "" && len(d.Variants) == 0 {
		return d, nil
	}
	options, err := Resolve(d.Options, given)
	if err != nil {
		return d, err
	}
	if d.BatchBytesOption != "" {
		i := slices.IndexFunc(d.Options, func(o Option) bool { return o.Name == d.BatchBytesOption && o.Type == Bytes })
		if i < 0 {
			return d, fmt.Errorf("the bytes of a batch follow the option %q, which is not declared, or is no number of bytes", d.BatchBytesOption)
		}
		usual, err := ParseBytes(d.Options[i].Default)
		if err != nil || usual <= 0 {
			return d, fmt.Errorf("the bytes of a batch follow the option %q, whose default is %q", d.BatchBytesOption, d.Options[i].Default)
		}
		now, err := ParseBytes(options[d.BatchBytesOption])
		if err != nil {
			return d, fmt.Errorf("option %s: %w", d.BatchBytesOption, err)
		}
		d.BatchBytesMax = int64(float64(d.BatchBytesMax) * float64(now) / float64(usual))
	}
	for _, v := range d.Variants {
		choice, declared := options[v.Option]
		if !declared {
			return d, fmt.Errorf("a variant is of the option %q, which is not declared", v.Option)
		}
		if choice != v.Choice {
			continue
		}
		d.KeyText, d.Eventual = d.KeyText || v.KeyText, d.Eventual || v.Eventual
		d.Abilities.MultiGet = d.Abilities.MultiGet && !v.NoMultiGet
		if v.KeyBytesMax > 0 {
			d.KeyBytesMax = v.KeyBytesMax
		}
	}
	if d.ConnectionsOption != "" {
		each, err := strconv.Atoi(options[d.ConnectionsOption])
		if err != nil {
			return d, fmt.Errorf("the connections of a handle follow the option %q, which is no declared number", d.ConnectionsOption)
		}
		if each > 0 {
			d.ConnectionsEach, d.HandlePools = each, false
		}
	}
	if d.ValueBytesOption == "" {
		return d, nil
	}
	text, declared := options[d.ValueBytesOption]
	if !declared {
		return d, fmt.Errorf("the length of values follows the option %q, which is not declared", d.ValueBytesOption)
	}
	if d.ValueBytesChoices != nil {
		if limit, ok := d.ValueBytesChoices[text]; ok {
			d.ValueBytesMax = limit
		}
		return d, nil
	}
	below, err := d.belowOption()
	if err != nil {
		return d, err
	}
	bytes, err := ParseBytes(text) // an int is a number of bytes, too
	if err != nil {
		return d, fmt.Errorf("option %s: %w", d.ValueBytesOption, err)
	}
	if bytes <= below {
		return d, fmt.Errorf("option %s: %s leaves no room for a value, expected more than %d bytes", d.ValueBytesOption, text, below)
	}
	d.ValueBytesMax = int(bytes - below)
	return d, nil
}

// belowOption returns by how many bytes the longest value is shorter than the option that it follows.
func (d Description) belowOption() (int64, error) {
	i := slices.IndexFunc(d.Options, func(o Option) bool { return o.Name == d.ValueBytesOption })
	usual, err := ParseBytes(d.Options[i].Default)
	if err != nil || int64(d.ValueBytesMax) > usual {
		return 0, fmt.Errorf("value_bytes_max is %d, but the default of option %s, which it follows, is %s",
			d.ValueBytesMax, d.ValueBytesOption, d.Options[i].Default)
	}
	return usual - int64(d.ValueBytesMax), nil
}

// Claim returns how the driver reaches class, and whether it can.
func (d Description) Claim(class Durability) (DurabilityClaim, bool) {
	for _, c := range d.Durability {
		if c.Class == class {
			return c, true
		}
	}
	return DurabilityClaim{}, false
}

// BatchRecordBytes is what a record takes of a batch beside its key and its value, as
// [Description].BatchBytesMax counts it: more than what stores add for themselves.
const BatchRecordBytes = 128

// BatchFits returns how many records a batch takes whose keys and values have so many bytes
// together; 0: as many as memory holds. A batch of one record is a write as any other.
func (d Description) BatchFits(recordBytes int) int {
	fits := d.BatchMax
	if d.BatchBytesMax > 0 {
		byBytes := max(int(d.BatchBytesMax/int64(recordBytes+BatchRecordBytes)), 1)
		if fits == 0 || byBytes < fits {
			fits = byBytes
		}
	}
	return fits
}
