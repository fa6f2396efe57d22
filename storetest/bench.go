package storetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"assay/internal/execution/conductor"
	"assay/internal/execution/control"
	"assay/internal/experiment/keyval"
	"assay/store"
)

// faultsMax bounds what one rule tells: a store that loses everything would fill pages.
const faultsMax = 12

// bench is what one rule works with: the kit's worker process, and the stores that it opens there.
type bench struct {
	*kit
	description store.Description
	faults      []string
	omitted     int

	second      *conductor.Worker // that does phases together with worker; nil: there is none
	phases      int               // since the store was opened
	pipeline    int               // of the store that is open
	lengthMax   int               // of all values so far
	short       uint32            // their lengths that have no room for a stamp, as in keyval.ValueShape
	directories int
	opened      map[string]bool // directories, "" for stores without, in which a store was opened before
}

// fault records that the rule is broken. The rule goes on, for there may be more.
func (b *bench) fault(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	switch {
	case slices.Contains(b.faults, text):
	case len(b.faults) < faultsMax:
		b.faults = append(b.faults, text)
	default:
		b.omitted++
	}
}

func (b *bench) describeFaults() string {
	text := strings.Join(b.faults, "\n")
	if b.omitted > 0 {
		text += fmt.Sprintf("\n… and %d more faults of this rule", b.omitted)
	}
	return text
}

// skipped ends a rule that does not apply.
type skipped struct{ reason string }

func (s *skipped) Error() string { return s.reason }

func skip(format string, args ...any) error { return &skipped{fmt.Sprintf(format, args...)} }

// start starts a worker unless one is running.
func (k *kit) start() error {
	if k.worker != nil {
		return nil
	}
	w, err := conductor.Start(k.target.Command, &k.log)
	if err != nil {
		return err
	}
	k.worker = w
	k.stopWatch = context.AfterFunc(k.ctx, w.Kill)
	return nil
}

// end ends the worker, if there is one, whatever state it is in.
func (k *kit) end() {
	if k.worker == nil {
		return
	}
	k.worker.Kill()
	_ = k.worker.End(k.target.StepTimeout) // it says that the worker was killed
	k.stopWatch()
	k.worker = nil
}

// handOn closes the store that a rule has left open and keeps the worker for the next rule: to start
// one costs more than what most rules ask of it. One that can't close is killed, and from then on
// each rule has its own: to wait for it once is enough.
func (b *bench) handOn() {
	if b.worker == nil {
		return
	}
	err := b.close()
	var no *control.Error
	if err == nil || errors.As(err, &no) && no.Class == control.ClassBadRequest { // no store is open
		return
	}
	b.keepsNone = true
	b.end()
}

// call makes a request.
func (b *bench) call(r control.Request, result any) error {
	if err := b.start(); err != nil {
		return err
	}
	return b.worker.Call(r, b.target.StepTimeout, result)
}

// expectRefusal makes a request that must be answered with an error of a class, and keeps a fault
// if it is not. The error is for a worker that can't be talked to any more.
func (b *bench) expectRefusal(what, class string, r control.Request) error {
	return b.judgeRefusal(what, class, b.call(r, nil))
}

func (b *bench) judgeRefusal(what, class string, err error) error {
	var no *control.Error
	switch {
	case err == nil:
		b.fault("%s was accepted, expected an error of class %s", what, class)
	case !errors.As(err, &no):
		return fmt.Errorf("%s: %w", what, err)
	case no.Class != class:
		b.fault("%s was answered with class %q (%s), expected %s", what, no.Class, no.Message, class)
	}
	return nil
}

func (b *bench) describe() (control.Described, error) {
	var d control.Described
	err := b.call(control.Request{Command: control.CommandDescribe}, &d)
	return d, err
}

// opening is how a store is to be opened. Zero fields mean: the weakest class, any way to share
// handles, one thread, a fresh directory.
type opening struct {
	durability  store.Durability
	window      time.Duration // T of D2(T); 0: lossWindow
	handles     string
	poolHandles int
	pipeline    int
	threads     int
	directory   string
	defaults    bool // the driver's options are left as they are
}

// lossWindow is longer than any store that syncs in the background needs.
const lossWindow = time.Minute

// request fills in what is left open.
func (b *bench) request(o opening) (control.Request, error) {
	r := control.Open{
		Driver: b.target.Driver, First: !b.opened[o.directory], Directory: o.directory,
		Endpoints: b.target.Endpoints, Durability: o.durability,
		Options: b.target.Options, Handles: o.handles, PoolHandles: o.poolHandles, Pipeline: o.pipeline,
		Threads: max(o.threads, 1),
	}
	if o.defaults {
		r.Options = nil
	}
	if r.Durability == "" {
		r.Durability = b.description.Durability[0].Class
	}
	if r.Durability == store.D2 {
		r.LossWindowNS = int64(cmp.Or(o.window, lossWindow))
	}
	if r.Handles == "" && b.target.Handles != "" {
		r.Handles, r.Pipeline = b.target.Handles, b.target.Pipeline
	}
	if r.Handles == "" {
		r.Handles = control.HandlesPerThread
		if b.description.HandlesShareable {
			r.Handles = control.HandlesShared
		}
	}
	if r.Directory == "" && b.description.Kind == store.Embedded {
		var err error
		if r.Directory, err = b.newDirectory(); err != nil {
			return control.Request{}, err
		}
	}
	return control.Request{Command: control.CommandOpen, Open: &r}, nil
}

func (b *bench) newDirectory() (string, error) {
	b.directories++
	name := filepath.Join(b.root, fmt.Sprintf("%02d-%d", b.ordinal, b.directories))
	if err := os.Mkdir(name, 0o700); err != nil {
		return "", fmt.Errorf("a directory for a store: %w", err)
	}
	return name, nil
}

func (b *bench) open(o opening) (control.Opened, error) {
	var opened control.Opened
	r, err := b.request(o)
	if err != nil {
		return opened, err
	}
	b.phases = 0
	b.pipeline = r.Open.Pipeline
	err = b.call(r, &opened)
	if err == nil {
		if b.opened == nil {
			b.opened = map[string]bool{}
		}
		b.opened[r.Open.Directory] = true
	}
	if err != nil {
		err = fmt.Errorf("opening %s in class %s with handles %s: %w", r.Open.Driver, r.Open.Durability, r.Open.Handles, err)
	}
	return opened, err
}

func (b *bench) close() error {
	return b.call(control.Request{Command: control.CommandClose}, nil)
}

// needsRecords skips a rule that the null driver can't be held to.
func (b *bench) needsRecords() error {
	if b.description.Kind == store.None {
		return skip("%s stores nothing", b.description.Name)
	}
	return nil
}

// indexesPerRule is far more than any rule uses: they stay below 4,000, for an array of 1 MiB holds
// no more numbers.
const indexesPerRule = 1 << 22

// base is the first index that the rule may use. On a server all rules share one store.
func (b *bench) base(keys keyval.KeyShape) uint64 {
	base := uint64(b.ordinal) * indexesPerRule
	if b.description.Kind != store.Server || base+indexesPerRule > keys.IndexLimit() {
		return 0
	}
	return base
}

// many returns how many operations a rule does that does many: fewer for a brief check, and as
// [bench.rare] has it.
func (b *bench) many(n int) int {
	if b.target.Brief {
		return max(n/5, 1)
	}
	return b.rare(n)
}

// rare returns how many operations a rule does that looks for what happens seldom: fewer only where
// each takes long, or looks through all records.
func (b *bench) rare(n int) int {
	if b.target.Slow || b.description.IndexesIdle {
		return max(n/5, 1)
	}
	return n
}

// keys returns a shape of keys that every rule can use with this driver, in whose order indexes
// ascend.
func (b *bench) keys() keyval.KeyShape {
	length := max(16, b.description.KeyBytesMin)
	if b.description.KeyBytesMax > 0 {
		length = min(length, b.description.KeyBytesMax)
	}
	return b.keysOf(length)
}

// keysOf returns a shape of keys of one length, in whose order indexes ascend.
func (b *bench) keysOf(length int) keyval.KeyShape {
	if !b.description.KeyText {
		return keyval.KeyShape{Format: keyval.Binary, Bytes: length}
	}
	digits := min(length, 12)
	rest := length - digits
	return keyval.KeyShape{
		Format: keyval.Decimal, Digits: digits,
		Prefix: strings.Repeat("p", min(rest, 250)), Suffix: strings.Repeat("s", max(rest-250, 0)),
	}
}

// tail keeps the end of what a worker writes to standard error, however much that is.
type tail struct {
	lock  sync.Mutex
	bytes []byte
}

const tailBytesMax = 2000

func (t *tail) Write(p []byte) (int, error) {
	t.lock.Lock()
	defer t.lock.Unlock()
	t.bytes = append(t.bytes, p[max(0, len(p)-tailBytesMax):]...)
	t.bytes = slices.Delete(t.bytes, 0, max(0, len(t.bytes)-tailBytesMax))
	return len(p), nil
}

func (t *tail) clear() {
	t.lock.Lock()
	defer t.lock.Unlock()
	t.bytes = nil
}

func (t *tail) text() string {
	t.lock.Lock()
	defer t.lock.Unlock()
	return strings.TrimSpace(string(t.bytes))
}
