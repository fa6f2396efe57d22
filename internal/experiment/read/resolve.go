package read

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"assay/internal/experiment"
	"assay/internal/experiment/keyval"
)

// The defaults of what a file leaves out; docs/experiment-file.md lists them.
const (
	defaultRecords       = 10_000
	defaultThreads       = 1
	defaultHandles       = experiment.PerThread
	defaultKeyBytes      = 16
	defaultValueBytes    = 100
	defaultRepeated      = 0.5
	defaultPoolBytes     = 256 << 10 // stays in a second-level cache: a value of 100 bytes then costs 6 ns, from 4 MiB 30
	defaultBlocks        = 3         // also the least of blocks: auto
	defaultBlocksMax     = 10
	defaultSmallest      = 0.10
	defaultDetectBlocks  = 5 // with fewer, blocks that happen to be alike end too many runs
	defaultDetectMax     = 30
	defaultRepeats       = 2
	defaultSeed          = 1
	defaultVerifyRecords = 1_000_000
	defaultStepTimeout   = 60 * time.Second
	defaultTheta         = 0.99
	defaultHotRecords    = 0.2
	defaultHotOperations = 0.8
	defaultScanMin       = 1
	defaultScanMax       = 100
	defaultQueryLimit    = 10
)

// Bounds that keep a slip of the pen from planning a year.
const (
	storesMax     = 100
	nameBytesMax  = 40
	cellsMax      = 1000
	blocksMax     = 1000
	repeatsMax    = 100
	trialsMax     = 100_000
	sizesMax      = 64
	valueBytesMax = 1 << 30

	stepTimeoutMin = time.Second
)

// resolver turns a decoded file into an experiment. The tree is kept for the places of what it
// finds wrong.
type resolver struct {
	root    *node
	file    *File
	drivers Drivers
	e       *experiment.Experiment
	notes   []string

	// follows are the fields that follow from the stores where they don't fit: "baseline",
	// "durability", "phases".
	follows    map[string]bool
	fromStores bool // durability and keys are left to the stores
}

// within is what stands at a path of the file: a store, a phase, a group.
type within struct {
	*resolver
	path []string
}

// in returns a path below it.
func (r within) in(parts ...string) []string { return slices.Concat(r.path, parts) }

func (r within) below(parts ...string) within { return within{r.resolver, r.in(parts...)} }

func (r *resolver) note(text string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(text, args...))
}

func (r *resolver) resolve(scale string) (*experiment.Experiment, *Error) {
	f := r.file
	r.e = &experiment.Experiment{
		Name: f.Name, About: strings.TrimSpace(f.About), Scale: scale,
		Seed: uint64(orCount64(f.Seed, defaultSeed)), TimedEvery: f.Latency.Every,
		Verify: f.Verify == nil || *f.Verify, Clock: orText(string(f.Clock), "auto"), Cache: orText(string(f.Cache), experiment.CacheWarm),
		DiskQuotaBy: orText(string(f.DiskQuotaBy), experiment.QuotaByStop), BusyMachine: orText(string(f.BusyMachine), experiment.BusyMachineMark),
		Sample: time.Duration(f.Sample), StepTimeout: orDuration(f.StepTimeout, defaultStepTimeout),
	}
	if r.e.Verify {
		r.e.VerifyRecords = defaultVerifyRecords
	}
	if f.VerifyRecords != nil {
		r.e.VerifyRecords = uint64(*f.VerifyRecords)
	}
	for _, step := range []func() *Error{
		r.general, r.schedule, r.keys, r.values, r.columns, r.queries, r.stores, r.crash, r.cpus, r.followStores, r.namespace, r.phases, r.cells, r.agents,
		whole{r}.quotaWay, whole{r}.keySpace, whole{r}.traceLengths, whole{r}.sampled, whole{r}.abilities, whole{r}.optionalPhases, whole{r}.size,
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return r.e, nil
}

// fail points at the field of a path, or at the nearest thing around it that stands in the file.
func (r *resolver) fail(parts []string, format string, args ...any) *Error {
	at, n := r.root.at, r.root
	for _, part := range parts {
		next := n.field(part)
		if next == nil {
			next = member(n, part)
		} else if next.kind == list || next.kind == table {
			at = keyPlace(n, part)
			n = next
			continue
		}
		if next == nil {
			break
		}
		at, n = next.at, next
	}
	return at.fail(strings.Join(parts, "."), format, args...)
}

// member returns the element of a list that has a name, or stands at a position.
func member(n *node, name string) *node {
	for i, item := range n.items {
		if fmt.Sprint(i) == name {
			return item
		}
	}
	return nil
}

func keyPlace(n *node, key string) place {
	for _, e := range n.entries {
		if e.key == key {
			return e.at
		}
	}
	return n.at
}

func (r *resolver) general() *Error {
	e := r.e
	if e.Name == "" {
		return r.fail([]string{"name"}, "the experiment has no name").hint("expected name: NAME")
	}
	if len(e.Name) > nameBytesMax || !plainName(e.Name) {
		return r.fail([]string{"name"}, "the name %q can't be part of a file name", e.Name).hint(plainNameRule)
	}
	if e.StepTimeout < stepTimeoutMin {
		return r.fail([]string{"step_timeout"}, "a step_timeout of %s ends healthy stores: opening and syncing take longer", e.StepTimeout).
			hint("expected at least %s", stepTimeoutMin)
	}
	return nil
}

// schedule resolves how much is run. Where no number of blocks is given, fields that only auto has
// mean auto.
func (r *resolver) schedule() *Error {
	f, s := r.file, experiment.Schedule{Time: time.Duration(r.file.Time), Repeats: orCount(r.file.Repeats, defaultRepeats)}
	if s.Repeats > repeatsMax {
		return r.fail([]string{"repeats"}, "repeats must be 0 to %d, not %d", repeatsMax, s.Repeats)
	}
	if f.Detect != nil {
		return r.detect(s)
	}
	automatic := f.Blocks.Auto || f.Blocks.Number == 0 && (s.Time > 0 || f.BlocksMax != nil || f.Smallest != nil)
	if !automatic {
		s.Blocks = cmp.Or(f.Blocks.Number, defaultBlocks)
		if f.BlocksMax != nil && s.Time > 0 && int(*f.BlocksMax) > s.Blocks { // what time is left over is used
			s.BlocksMax = min(int(*f.BlocksMax), blocksMax)
		}
		r.e.Schedule = s
		return nil
	}
	s.Blocks, s.BlocksMax, s.Smallest = defaultBlocks, orCount(f.BlocksMax, defaultBlocksMax), defaultSmallest
	if f.Smallest != nil {
		s.Smallest = float64(*f.Smallest)
	}
	if s.BlocksMax < s.Blocks || s.BlocksMax > blocksMax {
		return r.fail([]string{"blocks_max"}, "blocks_max must be %d to %d, not %d", s.Blocks, blocksMax, s.BlocksMax)
	}
	r.e.Schedule = s
	return nil
}

// detect resolves a number of blocks that the noise of the first ones decides. What they show is not
// looked at, so that smallest has no place beside it.
func (r *resolver) detect(s experiment.Schedule) *Error {
	f := r.file
	if f.Smallest != nil || f.Blocks.Auto {
		return r.fail([]string{"detect"}, "detect chooses the number of blocks by the noise, blocks: auto and smallest by what was measured").
			hint("remove one of them")
	}
	s.Detect, s.Blocks = float64(*f.Detect), cmp.Or(f.Blocks.Number, defaultDetectBlocks)
	s.BlocksMax = orCount(f.BlocksMax, max(defaultDetectMax, s.Blocks))
	if s.Blocks < defaultDetectBlocks {
		return r.fail([]string{"blocks"}, "detect measures the noise in the first blocks: at least %d, not %d", defaultDetectBlocks, s.Blocks)
	}
	if s.BlocksMax < s.Blocks || s.BlocksMax > blocksMax {
		return r.fail([]string{"blocks_max"}, "blocks_max must be %d to %d, not %d", s.Blocks, blocksMax, s.BlocksMax)
	}
	r.e.Schedule = s
	return nil
}

const plainNameRule = "expected letters, digits and . _ + -, a letter or digit first, at most 40 in all" // nameBytesMax

// plainName says if a name can stand in a file name and on a command line as it is.
func plainName(name string) bool {
	for i, c := range []byte(name) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && (i == 0 || !strings.ContainsRune("._+-", rune(c))) {
			return false
		}
	}
	return name != ""
}

func (r *resolver) keys() *Error {
	k := r.file.Keys
	shape := keyval.KeyShape{
		Format: keyval.KeyFormat(orText(string(k.Format), string(keyval.Binary))), Suffix: k.Suffix, Scatter: k.Scatter,
	}
	if k.Prefix != nil {
		shape.Prefix = *k.Prefix
	}
	if k.Digits != nil {
		shape.Digits = int(min(*k.Digits, 1<<30))
	}
	if k.First != nil {
		shape.First = uint64(*k.First)
	}
	if k.Bytes != nil {
		shape.Bytes = int(min(*k.Bytes, 1<<30))
	}
	switch {
	case shape.Format == keyval.Binary && k.Bytes == nil:
		shape.Bytes = defaultKeyBytes
	case shape.Format != keyval.Binary && k.Bytes != nil:
		return r.fail([]string{"keys", "bytes"}, "%s keys are as long as their digits: they take no bytes", shape.Format)
	case shape.Format == keyval.YCSB && k.Prefix == nil:
		shape.Prefix = "user"
	}
	if err := shape.Check(); err != nil {
		return r.fail([]string{"keys"}, "%v", err)
	}
	r.e.Keys = shape
	return nil
}

// namespace makes room in the keys for the trial's name, where one of the stores is a server that
// outlives the trial and may hold others' keys. All stores then have such keys, so that they
// are equally long.
func (r *resolver) namespace() *Error {
	server := slices.ContainsFunc(r.e.Stores, func(s experiment.Store) bool {
		return s.Outlives() && !(s.Description.KeyText && r.e.Keys.Format == keyval.Binary)
	})
	if !server {
		return nil
	}
	r.e.KeyNamespace = true
	r.e.Keys.Prefix = experiment.KeyPlaceholder + r.e.Keys.Prefix
	if err := r.e.Keys.Check(); err != nil {
		return r.fail([]string{"keys"}, "on a server, keys begin with %d bytes that name the trial: %v", len(experiment.KeyPlaceholder), err)
	}
	return nil
}

func (r *resolver) values() *Error {
	v := r.file.Values
	repeated := defaultRepeated
	if v.Repeated != nil {
		repeated = *v.Repeated
	}
	if repeated < 0 || repeated > 1 {
		return r.fail([]string{"values", "repeated"}, "repeated is a share of each value, 0 to 1, not %v", repeated)
	}
	pool := orCount64(v.PoolBytes, defaultPoolBytes)
	r.e.Values = experiment.Values{RepeatedPermille: int(repeated*1000 + 0.5), PoolBytes: int(min(pool, 1<<40))}
	shape := keyval.ValueShape{PoolBytes: r.e.Values.PoolBytes, RepeatedPermille: r.e.Values.RepeatedPermille, TrialTag: 1} // each trial has its own
	if err := shape.Check(); err != nil {
		return r.fail([]string{"values", "pool_bytes"}, "%v", err)
	}
	if len(v.Sizes) > 0 && len(v.Bytes) > 0 {
		return r.fail([]string{"values", "sizes"}, "values have either bytes or sizes, not both")
	}
	if len(v.Sizes) > sizesMax {
		return r.fail([]string{"values", "sizes"}, "%d sizes: at most %d", len(v.Sizes), sizesMax)
	}
	for i, size := range v.Sizes {
		at := []string{"values", "sizes", fmt.Sprint(i)}
		if size.Bytes > valueBytesMax {
			return r.fail(append(at, "bytes"), "a value has at most 1 GiB")
		}
		if size.Weight <= 0 || size.Weight > 1e12 {
			return r.fail(append(at, "weight"), "each size needs a weight above 0 (and at most 1e12)")
		}
		r.e.Values.Sizes = append(r.e.Values.Sizes, experiment.Size{Bytes: int(size.Bytes), Weight: size.Weight})
	}
	return nil
}

// atKey moves an error from a value to its key, where the key itself is the mistake.
func (r *resolver) atKey(e *Error, parts []string, key string) *Error {
	n := r.root
	for _, part := range parts {
		next := n.field(part)
		if next == nil {
			next = member(n, part)
		}
		if next == nil {
			return e
		}
		n = next
	}
	moved := keyPlace(n, key).fail(e.Path, "%s", e.Message)
	moved.Hint, moved.Nearest = e.Hint, e.Nearest
	return moved
}

func orText(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

func orCount(c *Count, otherwise int) int { return int(min(orCount64(c, uint64(otherwise)), 1<<31)) }

func orCount64(c *Count, otherwise uint64) uint64 {
	if c == nil {
		return otherwise
	}
	return uint64(*c)
}

func orDuration(d DurationForm, otherwise time.Duration) time.Duration {
	if d == 0 {
		return otherwise
	}
	return time.Duration(d)
}

func orNumber(n *float64, otherwise float64) float64 {
	if n == nil {
		return otherwise
	}
	return *n
}

func firstOf(names []string, n int) []string { return names[:min(n, len(names))] }
