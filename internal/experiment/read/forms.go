package read

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"assay/internal/experiment"
	"assay/internal/experiment/keyval"
	"assay/internal/experiment/recording"
	"assay/internal/experiment/trace"
	"assay/store"
)

// OneOrMany is a field that a single value or a list may stand in: a list makes an axis of the
// matrix.
type OneOrMany[T any] []T

func (o *OneOrMany[T]) fromNode(n *node, path string) *Error {
	if n.kind == null {
		return nil
	}
	items := []*node{n}
	if n.kind == list {
		if items = n.items; len(items) == 0 {
			return n.at.fail(path, "an empty list: expected at least one value")
		}
	}
	values := make([]T, len(items))
	for i, item := range items {
		if item.kind == null {
			return item.expected(path, "a value")
		}
		if err := decode(item, reflect.ValueOf(&values[i]).Elem(), path); err != nil {
			return err
		}
	}
	*o = values
	return nil
}

// Count is a whole number: 1000000, 1_000_000, 1e6, 10k. Where bytes are counted, it takes a unit:
// 64KiB.
type Count uint64

func (c *Count) fromNode(n *node, path string) *Error {
	if n.kind == null {
		return nil
	}
	what := countRange(path)
	if n.kind != scalar || n.quoted {
		return n.expected(path, what)
	}
	var number uint64
	var ok bool
	if countsBytes(path) {
		var err *Error
		if number, err = n.bytes(path, what); err != nil {
			return err
		}
	} else if number, ok = parseWhole(n.text); !ok {
		return n.expected(path, what)
	}
	*c = Count(number)
	return nil
}

func countsBytes(path string) bool {
	return slices.ContainsFunc([]string{"bytes", "java.heap", "java.direct", "choose.memory", "choose.disk"},
		func(end string) bool { return strings.HasSuffix(path, end) })
}

// countRanges are the least and the most that a whole number may be, by the end of its path: for
// messages. What enforces them is the resolver, which knows of more than one field at once.
var countRanges = []struct {
	end         string
	least, most uint64
}{
	{"verify_records", 0, math.MaxUint64}, {"records", 0, experiment.RecordsMax}, {"threads", 1, trace.ThreadsMax}, {"processes", 1, trace.ProcessesMax}, {"blocks_max", defaultBlocks, blocksMax}, {"repeats", 0, repeatsMax},
	{"seed", 0, math.MaxUint64}, {"keys.bytes", 1, math.MaxUint16}, {"keys.digits", 0, 20}, {"keys.first", 0, keyval.IndexMax}, {"pool_bytes", 4096, 1 << 30},
	{"append.bytes", keyval.StampBytes, appendBytesMax}, {"bytes", 0, valueBytesMax}, {"proof", keyval.StampBytes, store.ColumnBytesMax}, {"stamp", 1, keyval.StampModuloMax}, {"batch", 1, batchMax}, {"multi_read", 1, trace.MultiReadMax}, {"append.parts", 1, trace.AppendPartsMax},
	{"scan.min", 1, scanMax}, {"scan.max", 1, scanMax}, {"query.limit", 1, keyval.QueryLimitMax}, {"operations", 1, operationsMax}, {"milestones", 1, operationsMax}, {"replay.loops", 1, loopsMax}, {".keys", 1, trace.BucketKeysMax},
	{"server.count", 1, experiment.ServersMax}, {"server.replicas", 0, experiment.ServersMax - 1}, {"java.heap", heapBytesMin, jvmBytesMax}, {"java.direct", directBytesMin, jvmBytesMax}, {"crash.cuts", 1, cutsMax},
	{"rate", 0, rateMax}, {"choose.memory", 1, wantedBytesMax}, {"choose.disk", 1, wantedBytesMax},
}

// countRange says what a count at a path may be.
func countRange(path string) string {
	for _, r := range countRanges {
		switch {
		case !strings.HasSuffix(path, r.end):
		case countsBytes(path):
			return fmt.Sprintf("a whole number of bytes from %d to %d, such as 4096 or 64KiB", r.least, r.most)
		default:
			return fmt.Sprintf("a whole number from %d to %d", r.least, r.most)
		}
	}
	return "a whole number"
}

// BlocksForm is auto or a number. Both zero: not given.
type BlocksForm struct {
	Auto   bool
	Number int
}

func (b *BlocksForm) fromNode(n *node, path string) *Error {
	if n.kind == null {
		return nil
	}
	if n.kind == scalar && n.text == "auto" {
		b.Auto = true
		return nil
	}
	number, ok := parseWhole(n.text)
	if n.kind != scalar || n.quoted || !ok || number < 1 || number > blocksMax {
		return n.expected(path, fmt.Sprintf("auto or a whole number from 1 to %d", blocksMax))
	}
	b.Number = int(number)
	return nil
}

// StartForm is true, or the word start, which stands for a table of its own.
type StartForm bool

func (s *StartForm) fromNode(n *node, path string) *Error {
	if n.kind == null {
		return nil
	}
	if n.kind != scalar || n.quoted || !slices.Contains([]string{"start", "true", "false"}, n.text) {
		return n.expected(path, "start, true or false")
	}
	*s = n.text != "false"
	return nil
}

// ShareForm is a share between 0 and 1, as a number or in percent: 0.1, 10%.
type ShareForm float64

func (s *ShareForm) fromNode(n *node, path string) *Error {
	if n.kind == null {
		return nil
	}
	text, percent := strings.CutSuffix(n.text, "%")
	number, ok := parseNumber(strings.TrimSpace(text))
	if percent {
		number /= 100
	}
	if n.kind != scalar || !ok || number < smallestMin || number >= 1 {
		e := n.expected(path, fmt.Sprintf("a share from %g%% to below 100%%, such as 10%%", 100*smallestMin))
		if ok && number > 0 && number < smallestMin {
			return e.hint("no number of blocks shows a difference below %g%%", 100*smallestMin)
		}
		return e
	}
	*s = ShareForm(number)
	return nil
}

// DurationForm is a duration such as 500ms, 10s or 2m.
type DurationForm time.Duration

func (d *DurationForm) fromNode(n *node, path string) *Error {
	if n.kind == null {
		return nil
	}
	duration, ok := parseDuration(n.text)
	if n.kind != scalar || !ok || duration <= 0 {
		err := n.expected(path, "a duration such as 500ms, 10s or 2m")
		if number, ok := parseNumber(n.text); ok && number > 0 {
			return err.hint("write %ss for seconds", n.text)
		}
		return err
	}
	*d = DurationForm(duration)
	return nil
}

// SampleForm is auto (0) or a duration.
type SampleForm time.Duration

const sampleMin = 10 * time.Millisecond

func (s *SampleForm) fromNode(n *node, path string) *Error {
	if n.kind == null || n.kind == scalar && n.text == "auto" {
		return nil
	}
	duration, ok := parseDuration(n.text)
	if n.kind != scalar || !ok || duration < sampleMin {
		return n.expected(path, "auto or a duration of at least 10ms")
	}
	*s = SampleForm(duration)
	return nil
}

// EntryForm is which of a store's servers requests enter by: the first, all in turn, or one that has
// the key. It is the value of the option "entry" of drivers that have a choice.
type EntryForm string

var entries = []string{"one", "all", "prefer"}

// MemoryLimitForm is none (0) or a number of bytes.
type MemoryLimitForm int64

// memoryLimitMin is what the worker's own runtime needs before a store is open.
const memoryLimitMin = 16 << 20

func (m *MemoryLimitForm) fromNode(n *node, path string) *Error {
	if n.kind == scalar && n.text == "none" {
		return nil
	}
	const what = "none or a whole number of bytes of at least 16MiB, such as 512MiB"
	if n.kind != scalar {
		return n.expected(path, what)
	}
	bytes, err := n.bytes(path, what)
	if err != nil {
		return err
	}
	if bytes < memoryLimitMin {
		return n.expected(path, what)
	}
	*m = MemoryLimitForm(bytes)
	return nil
}

// DiskQuotaForm is none (0) or a number of bytes.
type DiskQuotaForm int64

// diskQuotaMin is about what a store without records takes.
const diskQuotaMin = 1 << 20

func (q *DiskQuotaForm) fromNode(n *node, path string) *Error {
	if n.kind == scalar && n.text == "none" {
		return nil
	}
	const what = "none or a whole number of bytes of at least 1MiB, such as 2GiB"
	if n.kind != scalar {
		return n.expected(path, what)
	}
	bytes, err := n.bytes(path, what)
	if err != nil {
		return err
	}
	if bytes < diskQuotaMin {
		return n.expected(path, what)
	}
	*q = DiskQuotaForm(bytes)
	return nil
}

// HandlesForm is how threads share handles; pool(8) is a pool of 8, and async(16) has at most 16
// operations on the way on each handle.
type HandlesForm struct {
	Sharing  string
	Pool     int
	Pipeline int // of async
}

// pipelineMax bounds what is on the way on one connection: beyond it a server's buffers are
// measured.
const pipelineMax = 1024

func (h *HandlesForm) fromNode(n *node, path string) *Error {
	names := []string{experiment.Shared, experiment.PerThread, experiment.Pool + "(N)", experiment.PerOperation, experiment.Async, experiment.Async + "(N)"}
	if n.kind != scalar {
		return n.expected(path, "one of "+strings.Join(names, ", "))
	}
	switch n.text {
	case experiment.Shared, experiment.PerThread, experiment.PerOperation:
		h.Sharing = n.text
		return nil
	}
	if inside, ok := argument(n.text, experiment.Pool); ok {
		if size, err := strconv.Atoi(inside); err == nil && size >= 1 && size <= 1<<20 {
			h.Sharing, h.Pool = experiment.Pool, size
			return nil
		}
	}
	if n.text == experiment.Async {
		h.Sharing, h.Pipeline = experiment.Async, 1
		return nil
	}
	if inside, ok := argument(n.text, experiment.Async); ok {
		if pipeline, err := strconv.Atoi(inside); err == nil && pipeline >= 1 && pipeline <= pipelineMax {
			h.Sharing, h.Pipeline = experiment.Async, pipeline
			return nil
		}
	}
	if strings.HasPrefix(n.text, experiment.Async+"(") {
		return n.at.fail(path, "expected 1 to %d operations on the way on each connection, such as async(16), got %q", pipelineMax, n.text)
	}
	if n.text == experiment.Pool || strings.HasPrefix(n.text, experiment.Pool+"(") {
		return n.at.fail(path, "expected the size of the pool, such as pool(8), got %q", n.text)
	}
	return n.at.fail(path, "unknown handles %q", n.text).
		hint("expected one of %s", strings.Join(names, ", ")).near(n.text, names)
}

// LatencyForm is which operations are timed.
type LatencyForm struct{ Every uint64 } // of so many one; 0: all

func (l *LatencyForm) fromNode(n *node, path string) *Error {
	if n.kind != scalar {
		return n.expected(path, "all or sampled(N)")
	}
	if n.text == experiment.LatencyAll {
		return nil
	}
	if inside, ok := argument(n.text, experiment.LatencySampled); ok {
		if every, err := strconv.ParseUint(inside, 10, 64); err == nil && every >= trace.TimedEveryMin &&
			every <= trace.TimedEveryMax {
			l.Every = every
			return nil
		}
	}
	if strings.HasPrefix(n.text, experiment.LatencySampled) {
		return n.at.fail(path, "expected one in how many operations is timed, %d to %d, such as sampled(100), got %q", trace.TimedEveryMin, trace.TimedEveryMax, n.text)
	}
	return n.at.fail(path, "unknown latency %q", n.text).hint("expected all or sampled(N)").near(n.text, []string{experiment.LatencyAll, experiment.LatencySampled})
}

// argument returns what stands in "name(…)".
func argument(text, name string) (string, bool) {
	rest, ok := strings.CutPrefix(text, name+"(")
	if !ok {
		return "", false
	}
	return strings.CutSuffix(rest, ")")
}

// DurabilityForm is a durability class; D2(100ms) carries its window.
type DurabilityForm struct {
	Class  store.Durability
	Window time.Duration
}

var classes = []string{string(store.D0), string(store.D1), "D2(WINDOW)", string(store.D3), string(store.D4)}

func (d *DurabilityForm) fromNode(n *node, path string) *Error {
	if n.kind != scalar {
		return n.expected(path, "one of "+strings.Join(classes, ", "))
	}
	text := n.text
	if strings.HasPrefix(text, "d") {
		text = "D" + text[1:]
	}
	switch class := store.Durability(text); class {
	case store.D0, store.D1, store.D3, store.D4:
		d.Class = class
		return nil
	}
	if inside, ok := argument(text, string(store.D2)); ok {
		window, ok := parseDuration(inside)
		if ok && window > 0 {
			d.Class, d.Window = store.D2, window
			return nil
		}
	}
	if strings.HasPrefix(text, string(store.D2)) {
		return n.at.fail(path, "D2 needs a window: of how long a crash may lose the acknowledged writes").
			hint("expected D2(WINDOW), such as D2(100ms), got %q", n.text)
	}
	if slices.Contains(syncedWords, strings.ToLower(text)) {
		d.Class = store.D3
		return nil
	}
	e := n.at.fail(path, "unknown durability class %q", n.text).hint("expected one of %s", strings.Join(classes, ", "))
	e.Nearest = durabilityWords[strings.ToLower(n.text)]
	return e
}

// syncedWords say that each write is synced before it is acknowledged, which is D3 and nothing else.
var syncedWords = []string{"fsync", "always"}

// durabilityWords are what stores call their settings, by the class that they stand for.
var durabilityWords = map[string]string{
	"sync": "D3", "strict": "D3", "full": "D3", "on": "D3", "true": "D3", "everysec": "D2(1s)",
	"async": "D1", "nosync": "D1", "no-sync": "D1", "buffered": "D1", "off": "D0", "none": "D0", "false": "D0", "memory": "D0",
}

func (d DurabilityForm) String() string {
	return experiment.Cell{Durability: d.Class, LossWindow: d.Window}.ClassText()
}

// The texts that are one of a few names.
type (
	KeyFormatForm        string
	ClockForm            string
	CacheForm            string
	DiskQuotaByForm      string
	BusyMachineForm      string
	DistributionForm     string
	ScanDistributionForm string
	ColumnTypeForm       string
	IndexKindForm        string
	ComparisonForm       string
	ArrivalsForm         string
	CollectorForm        string
	CrashKindForm        string
	CutFileSystemForm    string
	RecordingForm        string
	TimeUnitForm         string
)

var (
	keyFormats        = []string{string(keyval.Binary), string(keyval.Decimal), string(keyval.YCSB)}
	clocks            = []string{"auto", "tsc", "monotonic"}
	caches            = []string{experiment.CacheWarm, experiment.CacheCold}
	diskQuotaWays     = []string{experiment.QuotaByStop, experiment.QuotaByMount}
	busyMachineWays   = []string{experiment.BusyMachineMark, experiment.BusyMachineTell}
	scanDistributions = []string{"uniform", "zipfian"}
	columnTypes       = []string{string(store.TextColumn), string(store.IntegerColumn), string(store.BytesColumn)}
	comparisons       = []string{string(store.Equal), string(store.Has)}
	arrivals          = []string{string(trace.Poisson), string(trace.Constant)}
	indexKinds        = []string{string(store.OrderedIndex), string(store.TokenIndex)}
)

func (f *KeyFormatForm) fromNode(n *node, path string) *Error {
	return oneOf((*string)(f), n, path, "key format", keyFormats)
}

func (f *EntryForm) fromNode(n *node, path string) *Error {
	return oneOf((*string)(f), n, path, "entry", entries)
}

func (f *ClockForm) fromNode(n *node, path string) *Error {
	return oneOf((*string)(f), n, path, "clock", clocks)
}

func (f *CacheForm) fromNode(n *node, path string) *Error {
	return oneOf((*string)(f), n, path, "page cache", caches)
}

func (f *DiskQuotaByForm) fromNode(n *node, path string) *Error {
	return oneOf((*string)(f), n, path, "disk_quota_by", diskQuotaWays)
}

func (f *BusyMachineForm) fromNode(n *node, path string) *Error {
	return oneOf((*string)(f), n, path, "busy_machine", busyMachineWays)
}

func (f *RecordingForm) fromNode(n *node, path string) *Error {
	return oneOf((*string)(f), n, path, "form of a recording", recording.Formats)
}

func (f *TimeUnitForm) fromNode(n *node, path string) *Error {
	return oneOf((*string)(f), n, path, "unit of time", recording.Units)
}

func (f *ArrivalsForm) fromNode(n *node, path string) *Error {
	return oneOf((*string)(f), n, path, "arrivals", arrivals)
}

// otherOrders are names that other tools give to orders of keys.
var otherOrders = map[string]string{"zipf": "zipfian", "random": "uniform", "rand": "uniform", "seq": "sequential", "shuffle": "shuffled", "newest": "latest"}

func (f *DistributionForm) fromNode(n *node, path string) *Error {
	if meant := otherOrders[strings.ToLower(n.text)]; meant != "" && n.kind == scalar {
		*f = DistributionForm(meant)
		return nil
	}
	return oneOf((*string)(f), n, path, "distribution", experiment.Distributions)
}

func (f *ScanDistributionForm) fromNode(n *node, path string) *Error {
	return oneOf((*string)(f), n, path, "distribution of scan lengths", scanDistributions)
}

func (f *ColumnTypeForm) fromNode(n *node, path string) *Error {
	return oneOf((*string)(f), n, path, "column type", columnTypes)
}

func (f *ComparisonForm) fromNode(n *node, path string) *Error {
	return oneOf((*string)(f), n, path, "comparison without a number", comparisons)
}

func (f *CollectorForm) fromNode(n *node, path string) *Error {
	return oneOf((*string)(f), n, path, "collector", experiment.Collectors())
}

func (f *IndexKindForm) fromNode(n *node, path string) *Error {
	return oneOf((*string)(f), n, path, "kind of index", indexKinds)
}

func oneOf(into *string, n *node, path, what string, names []string) *Error {
	if n.kind == null {
		return nil
	}
	if n.kind != scalar {
		return n.expected(path, "one of "+strings.Join(names, ", "))
	}
	for _, name := range names {
		if strings.EqualFold(n.text, name) {
			*into = name
			return nil
		}
	}
	return n.at.fail(path, "unknown %s %q", what, n.text).
		hint("expected one of %s", strings.Join(names, ", ")).near(n.text, names)
}
