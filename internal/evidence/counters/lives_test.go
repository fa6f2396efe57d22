package counters

import (
	"os"
	"sync"
	"testing"

	"assay/internal/base/memfile"
)

func newTestLives(t *testing.T) (*Lives, *os.File) {
	t.Helper()
	file, err := memfile.Create("test-lives")
	if err != nil {
		t.Fatal(err)
	}
	l, err := CreateLives(file, 2, 100)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Unmap(); err != nil {
			t.Error(err)
		}
		_ = file.Close() // memory
	})
	return l, file
}

const ms = 1_000_000

func TestLives(t *testing.T) {
	const index, early, late = 7, 100 * ms, 50 * ms
	put := func(l *Lives, beginMS, endMS int64, ttlMS uint32) {
		l.Begin(index)
		l.Written(index, beginMS*ms, endMS*ms, ttlMS)
	}
	for _, c := range []struct {
		name          string
		before        func(l *Lives)
		beside        func(l *Lives) // while the read is under way
		found         bool
		beginMS, ends int64
		want          LifeVerdict
		unjudged      bool
	}{
		{name: "never written", before: func(*Lives) {}, want: LifeUnknown},
		{name: "there within its time", before: func(l *Lives) { put(l, 10, 20, 1000) }, found: true, beginMS: 900, ends: 901, want: LifeRight},
		{name: "gone after it", before: func(l *Lives) { put(l, 10, 20, 1000) }, beginMS: 1100, ends: 1101, want: LifeRight},
		{name: "gone within the unit before it", before: func(l *Lives) { put(l, 10, 20, 1000) }, beginMS: 915, ends: 916, want: LifeRight},
		{name: "gone early", before: func(l *Lives) { put(l, 10, 20, 1000) }, beginMS: 800, ends: 801, want: LifeEarly},
		{name: "there within the tick", before: func(l *Lives) { put(l, 10, 20, 1000) }, found: true, beginMS: 1060, ends: 1061, want: LifeRight},
		{name: "there late", before: func(l *Lives) { put(l, 10, 20, 1000) }, found: true, beginMS: 1080, ends: 1081, want: LifeLate},
		{name: "no end", before: func(l *Lives) { put(l, 10, 20, 1000); put(l, 30, 40, 0) }, beginMS: 9000, ends: 9001, want: LifeEarly},
		{name: "no end, and there", before: func(l *Lives) { put(l, 10, 20, 1000); put(l, 30, 40, 0) }, found: true, beginMS: 9000, ends: 9001, want: LifeRight},
		{name: "deleted", before: func(l *Lives) { put(l, 10, 20, 1000); l.Begin(index); l.Deleted(index) }, beginMS: 30, ends: 31, want: LifeUnknown},
		{name: "a write is under way", before: func(l *Lives) { put(l, 10, 20, 1000); l.Begin(index) }, beginMS: 100, ends: 101, unjudged: true},
		{name: "a write that did nothing", before: func(l *Lives) { put(l, 10, 20, 1000); l.Begin(index); l.Undone(index) }, beginMS: 100, ends: 101, want: LifeEarly},
		{name: "a write in doubt", before: func(l *Lives) { put(l, 10, 20, 1000); l.Begin(index); l.Failed(index); put(l, 30, 40, 50) },
			found: true, beginMS: 5000, ends: 5001, want: LifeUnknown, unjudged: true},
		{name: "deleted meanwhile", before: func(l *Lives) { put(l, 10, 20, 1000) }, beside: func(l *Lives) { l.Begin(index); l.Deleted(index) },
			beginMS: 100, ends: 120, unjudged: true},
		{name: "two at once, the shorter ended last", before: func(l *Lives) {
			l.Begin(index)
			l.Begin(index)
			l.Written(index, 10*ms, 20*ms, 5000)
			l.Written(index, 11*ms, 21*ms, 1000)
		}, beginMS: 1100, ends: 1101, want: LifeRight},
		{name: "two at once, the longer may be the last", before: func(l *Lives) {
			l.Begin(index)
			l.Begin(index)
			l.Written(index, 10*ms, 20*ms, 5000)
			l.Written(index, 11*ms, 21*ms, 1000)
		}, found: true, beginMS: 4000, ends: 4001, want: LifeRight},
		{name: "two at once, both over", before: func(l *Lives) {
			l.Begin(index)
			l.Begin(index)
			l.Written(index, 10*ms, 20*ms, 5000)
			l.Written(index, 11*ms, 21*ms, 1000)
		}, found: true, beginMS: 5100, ends: 5101, want: LifeLate},
		{name: "one after two at once", before: func(l *Lives) {
			l.Begin(index)
			l.Begin(index)
			l.Written(index, 10*ms, 20*ms, 5000)
			l.Written(index, 11*ms, 21*ms, 0)
			put(l, 30, 40, 100)
		}, found: true, beginMS: 300, ends: 301, want: LifeLate},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, _ := newTestLives(t)
			c.before(l)
			before := l.Of(index)
			if c.beside != nil {
				c.beside(l)
			}
			var tally LivesTally
			if got := tally.Judge(before, l.Of(index), c.found, c.beginMS*ms, c.ends*ms, early, late); got != c.want {
				t.Errorf("judged %d, want %d: %+v", got, c.want, tally)
			}
			if (tally.Unjudged == 1) != c.unjudged {
				t.Errorf("unjudged: %+v", tally)
			}
		})
	}
}

// Threads write, read and delete the same few records, each for a time that is over before it begins: no
// judgement is made beside a write, and no lock stays.
func TestLivesOfManyThreads(t *testing.T) {
	l, file := newTestLives(t)
	other, err := OpenLives(file.Name(), 2)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Unmap()
	var all sync.WaitGroup
	for i := range 4 {
		mapped := l
		if i%2 == 1 {
			mapped = other
		}
		all.Go(func() {
			for n := range int64(5000) {
				index := uint64(n % 3)
				mapped.Begin(index)
				switch n % 4 {
				case 0:
					mapped.Deleted(index)
				case 1:
					mapped.Undone(index)
				default:
					mapped.Written(index, n, n+1, uint32(n%7))
				}
				_ = mapped.Of(index)
			}
		})
	}
	all.Wait()
	for index := range uint64(3) {
		if life := l.Of(index); !life.Settled() || life.state&(lifeLocked|lifeContended|lifePartial) != 0 {
			t.Errorf("record %d: %#x", index, life.state)
		}
	}
}

func TestLivesFilesThatDoNotFit(t *testing.T) {
	_, file := newTestLives(t)
	if l, err := OpenLives(file.Name(), 3); err == nil {
		t.Errorf("a file for 2 threads is opened for 3: %v", l.Unmap())
	}
	if l, err := OpenLives("/dev/null", 1); err == nil {
		t.Errorf("an empty file is opened: %v", l.Unmap())
	}
}
