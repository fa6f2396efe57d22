package report

import (
	"strings"
	"testing"

	"assay/internal/host"
	"assay/internal/plan"
	"assay/internal/record"
	"assay/internal/record/recordtest"
	"assay/internal/spec"
)

func TestQuotaMountIsShown(t *testing.T) {
	for _, c := range []struct {
		name    string
		mount   record.QuotaMount
		usable  uint64 // of the second block
		without string // an arm whose trials have none
		kind    string
		want    string
		caution string
	}{
		{name: "loop", mount: record.QuotaMount{FileSystem: "ext4", By: host.QuotaLoop, Bytes: 2 << 30, UsableBytes: 2023567360}, usable: 2023567360,
			kind: "ext4 over a loop device",
			want: "The disk quota is a file system of its own for each trial: ext4 over a loop device, 2 GiB, 1.885 GiB of it usable."},
		{name: "a server beside it", mount: record.QuotaMount{FileSystem: "ext4", By: host.QuotaLoop, Bytes: 2e9, UsableBytes: 1.8e9}, usable: 1.9e9, without: "bbolt",
			kind: "ext4 over a loop device",
			want: "The disk quota is a file system of its own for each trial (none for bbolt): ext4 over a loop device, 2.00 GB, 1.80 GB to 1.90 GB of it usable."},
		{name: "tmpfs", mount: record.QuotaMount{FileSystem: "tmpfs", By: host.QuotaTmpfs, Bytes: 1e9, UsableBytes: 1e9, Caution: "a sync costs nothing"}, usable: 1e9,
			kind: "tmpfs in memory",
			want: "The disk quota is a file system of its own for each trial: tmpfs in memory, 1.00 GB, 1.00 GB of it usable.", caution: "A sync costs nothing."},
	} {
		shape := recordtest.Example()
		shape.Classes, shape.Blocks, shape.Seconds = shape.Classes[:1], 2, 20
		shape.Arms = []recordtest.Arm{shape.Arms[0], shape.Arms[3]}
		run := recordtest.Run(shape)
		for _, planned := range run.Plan {
			if planned.Role == plan.Ceiling || planned.Arm == c.without {
				continue
			}
			mount := c.mount
			if planned.Block == 2 {
				mount.UsableBytes = c.usable
			}
			run.Trials[planned.ID].QuotaMount = &mount
		}
		v, err := Build(run)
		if err != nil {
			t.Fatal(err)
		}
		if q := v.Tables[0].Quota; q == nil || q.Sentence != c.want || q.Caution != c.caution {
			t.Errorf("%s: the table says %+v", c.name, q)
		}
		var text strings.Builder
		if err := Text(&text, v, false, 80); err != nil {
			t.Fatal(err)
		}
		page := htmlOf(t, v)
		for _, sentence := range []string{c.want, c.caution} {
			if !strings.Contains(strings.Join(strings.Fields(text.String()), " "), sentence) || !strings.Contains(page, sentence) {
				t.Errorf("%s: the text or the page lacks %q", c.name, sentence)
			}
		}
		if strip := conditionsOf(v); !strings.Contains(strip, "each trial on "+c.kind+" of its own") {
			t.Errorf("%s: what is said of the machine is %s", c.name, strip)
		}
		for _, trial := range v.Trials {
			if want := trial.Role != string(plan.Ceiling) && trial.Arm != c.without; (trial.QuotaMount != nil) != want {
				t.Errorf("%s: trial %s has the file system %+v", c.name, trial.ID, trial.QuotaMount)
			}
		}
	}
	if q := exampleView(t).Tables[0].Quota; q != nil {
		t.Errorf("without a file system of its own, a table says %+v", q)
	}
}

func TestRecordsOfAnEmptyBeginning(t *testing.T) {
	inserts, reads := map[string]float64{"insert": 1}, map[string]float64{"read": 1}
	counting := spec.Phase{Mix: map[string]float64{"upsert": 1}, Order: spec.Order{Distribution: "counting"}}
	for _, c := range []struct {
		phases []spec.Phase
		want   bool
	}{
		{[]spec.Phase{{Mix: inserts}}, true},
		{[]spec.Phase{counting}, true},
		{[]spec.Phase{{Load: true}, {Mix: inserts}}, false},
		{[]spec.Phase{{Mix: inserts}, {Mix: reads}}, false},
		{[]spec.Phase{{Mix: map[string]float64{"insert": 1, "read": 1}}}, false},
	} {
		text := cellText(&spec.Experiment{Phases: c.phases}, spec.Cell{Records: 1000, ValueBytes: 23, Threads: 1, Handles: "shared"})
		if got := strings.HasPrefix(text, "records of 23 B, none at first"); got != c.want || strings.HasPrefix(text, "1,000 records of 23 B") == c.want {
			t.Errorf("%+v: %s", c.phases, text)
		}
	}
}
