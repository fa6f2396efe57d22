package run

import (
	"context"
	"html"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assay/internal/base/finding"
	"assay/internal/evidence/host"
	"assay/internal/evidence/record"
	"assay/internal/experiment"
	"assay/internal/experiment/read"
	"assay/internal/presentation/tell"
	"assay/store"
	"assay/worker"
)

// writesRun runs a short experiment as if the check of the kernel's count had found so much, and
// returns the trial, its samples and the report's page.
func writesRun(t *testing.T, limit string, perByte float64, why string) (*record.Trial, []record.Sample, string) {
	t.Helper()
	text := strings.ReplaceAll(inserts("bbolt", "D1", limit), "operations: 60000", "operations: 200")
	e, err := read.Load([]byte(text), "test.yaml", nil, read.Drivers{Describe: func(s experiment.Store) (store.Description, error) { return describe(s.Driver) }})
	if err != nil {
		t.Fatal(err)
	}
	directory := filepath.Join(t.TempDir(), "run")
	o := options(directory)
	o.checkWriteCount = func(string) (*float64, string) { return &perByte, why }
	if _, err := New(context.Background(), e, []byte(text), o); err != nil {
		t.Fatal(err)
	}
	trial, samples := readable(t, directory, "bbolt")
	if trial.State != record.OK && trial.State != record.Marked || len(trial.Phases) != 2 {
		t.Fatalf("%s: %s, %d phases", trial.State, trial.Error, len(trial.Phases))
	}
	run, err := record.Open(directory)
	if err != nil {
		t.Fatal(err)
	}
	if run.Environment.WriteCount == nil || *run.Environment.WriteCount != perByte ||
		run.Environment.NotMeasured[writesSeries] != why {
		t.Errorf("the environment says %v, %q", run.Environment.WriteCount, run.Environment.NotMeasured[writesSeries])
	}
	return trial, samples, html.UnescapeString(reported(t, run))
}

func writeSamples(samples []record.Sample) bool {
	return slices.ContainsFunc(samples, func(s record.Sample) bool { return s.WriteBytes != nil })
}

const (
	tooMuch       = "/proc/PID/io counts 256 bytes here"
	notMeasured   = "Host writes not measured for "
	ofTheOwnDisk  = "Host writes are those of the trial's own disk"
	amplification = 40 // more than bbolt's at D1 with values of 4 KiB, and far less than an over-count
)

func TestHostWritesOfAKernelThatOverCountsAreNotMeasured(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	trial, samples, page := writesRun(t, "", 256, tooMuch)
	for _, p := range trial.Phases {
		if p.Process.HostWriteBytes != nil || p.Process.HostWriteSource != "" || p.Process.HostWriteWhy != tooMuch {
			t.Errorf("%s: %+v", p.Name, p.Process)
		}
		if p.Process.HostReadBytes == nil {
			t.Errorf("%s: reads are not measured either", p.Name)
		}
	}
	if writeSamples(samples) || trial.NotMeasured[writesSeries] != tooMuch {
		t.Errorf("samples have them; or the trial says %q", trial.NotMeasured[writesSeries])
	}
	if !strings.Contains(page, notMeasured) || !strings.Contains(page, tooMuch+".") {
		t.Error("the report does not say so")
	}
}

func TestHostWritesOfAKernelThatCountsRight(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	trial, samples, page := writesRun(t, "", 1, "")
	for _, p := range trial.Phases {
		if p.Process.HostWriteBytes == nil || p.Process.HostWriteSource != record.WritesOfProcess || p.Process.HostWriteWhy != "" {
			t.Errorf("%s: %+v", p.Name, p.Process)
		}
	}
	if !writeSamples(samples) || trial.NotMeasured[writesSeries] != "" {
		t.Errorf("no sample has them; the trial says %q", trial.NotMeasured[writesSeries])
	}
	if strings.Contains(page, notMeasured) || strings.Contains(page, ofTheOwnDisk) {
		t.Error("the report says something of their source")
	}
}

func TestMountedQuotaGivesTheHostWritesOfItsDisk(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	if by := mountable(t); by != host.QuotaLoop {
		t.Skip("no loop device")
	}
	trial, samples, page := writesRun(t, "disk_quota: 64MiB\ndisk_quota_by: mount", 256, tooMuch)
	for _, p := range trial.Phases {
		acknowledged := p.Operations[0].BytesWritten
		if p.Process.HostWriteBytes == nil || p.Process.HostWriteSource != record.WritesOfDisk {
			t.Fatalf("%s: %+v", p.Name, p.Process)
		}
		bytes := *p.Process.HostWriteBytes
		t.Logf("%s: %d bytes acknowledged, %d bytes written (%.1f×)", p.Name, acknowledged, bytes, float64(bytes)/float64(acknowledged))
		if bytes < acknowledged || bytes > amplification*acknowledged {
			t.Errorf("%s: %d bytes acknowledged, %d bytes written", p.Name, acknowledged, bytes)
		}
	}
	if writeSamples(samples) || !strings.Contains(trial.NotMeasured[writesSeries], "device.write") {
		t.Errorf("samples have them; or the trial says %q", trial.NotMeasured[writesSeries])
	}
	if strings.Contains(page, notMeasured) || !strings.Contains(page, ofTheOwnDisk) {
		t.Error("the report does not say where they come from")
	}
}

// What writes the files must be what is looked at.
func TestWhoseWritesAreHostWrites(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		kind store.Kind
		disk disk
		why  string // a part of it; "": they are measured
	}{
		{"embedded", store.Embedded, disk{data: t.TempDir()}, ""},
		{"server", store.Server, disk{}, "server"},
		{"null", store.None, disk{}, "stores nothing"},
		{"tmpfs", store.Embedded, disk{data: t.TempDir(), mount: &record.QuotaMount{By: host.QuotaTmpfs}}, "in memory"},
	} {
		sampler := host.NewSampler(c.disk.data, os.Getpid())
		writes := writesOf(c.kind, &c.disk, nil, host.Servers{}, "")
		writes.quiet(sampler)
		written := sampler.Sample()
		_, _, why := writes.since(writes.onDisk(), host.Interval{HostWriteBytes: written.HostWriteBytes})
		if (c.why == "") != (why == "") || !strings.Contains(why, c.why) {
			t.Errorf("%s: %q, want %q", c.name, why, c.why)
		}
		if series := sampler.NotMeasured()[writesSeries]; (c.why == "") != (series == "") || (c.why == "") != (written.HostWriteBytes != nil) {
			t.Errorf("%s: the sampler gives %v, and says %q", c.name, written.HostWriteBytes, series)
		}
	}
}

// A store that writes after the last operation has written, too.
func TestDrainWritesCountForThePhase(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	trial, row, _ := standInRun(t, "lazy", "D0")
	p, acknowledged := &trial.Phases[0], trial.Phases[0].Operations[0].BytesWritten
	if !p.Sizes.Drained || p.Sizes.DiskBytes == nil || *p.Sizes.DiskBytes < acknowledged {
		t.Fatalf("%d bytes acknowledged: %+v", acknowledged, p.Sizes)
	}
	if p.Process.HostWriteBytes == nil || *p.Process.HostWriteBytes >= acknowledged {
		t.Errorf("%d bytes acknowledged; in the phase itself %v were written", acknowledged, p.Process.HostWriteBytes)
	}
	if drained := p.Process.HostWriteBytesDrained; drained == nil || *drained < acknowledged {
		t.Errorf("%d bytes acknowledged; with the drain, %v were written", acknowledged, drained)
	}
	if row.WriteAmplification == nil || *row.WriteAmplification < 1 {
		t.Errorf("write amplification is %v, with all of it on the disk", row.WriteAmplification)
	}
}

// The final check reads back what the process holds, and finds all of it.
func TestStoreThatKeepsNothingOnTheDiskIsFound(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	for _, c := range []struct {
		driver, class string
		found         bool
	}{{"forgetful", "D3", true}, {"bbolt", "D3", false}, {"lazy", "D0", false}} {
		trial, _, run := standInRun(t, c.driver, c.class)
		if trial.Final == nil || trial.Final.Right != trial.Final.Of {
			t.Fatalf("%s: the final check found out: %+v", c.driver, trial.Final)
		}
		s, err := tell.Result(run)
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(s.Findings, func(f finding.Finding) bool { return f.Code == finding.NotOnDisk })
		if (at >= 0) != c.found {
			t.Errorf("%s: found is %v, want %v", c.driver, at >= 0, c.found)
		}
		if at >= 0 {
			t.Log(finding.Text(s.Findings[at].Message), s.Findings[at].Evidence)
		}
	}
}

// Values that compress to nearly nothing, so that what is on the disk is as small as it gets.
func TestNoDriverIsReportedToKeepNothingOnDisk(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	for _, d := range linked() {
		description := worker.Describe(d)
		if description.Kind != store.Embedded {
			continue
		}
		for i, claim := range description.Durability {
			class := string(claim.Class)
			if claim.Class < store.D1 || i > 0 && description.Durability[i-1].Class >= store.D1 && os.Getenv("ASSAY_LONG") == "" {
				continue // the weakest that is to be on the disk writes the least
			}
			if claim.Class == store.D2 {
				class = "D2(100ms)"
			}
			t.Run(description.Name+" "+class, func(t *testing.T) {
				t.Parallel()
				text := strings.NewReplacer("WORKER", own(), "DRIVER", description.Name, "CLASS", class).Replace(keptText)
				_, _, run := runCounted(t, text, description.Name, tooMuch)
				s, err := tell.Result(run)
				if err != nil {
					t.Fatal(err)
				}
				for _, f := range s.Findings {
					if f.Code == finding.NotOnDisk {
						t.Errorf("%s %v", finding.Text(f.Message), f.Evidence)
					}
				}
			})
		}
	}
}

const keptText = `name: kept
stores: [{driver: DRIVER, worker: WORKER}]
records: 2000
keys: {format: binary, bytes: 16}
values: {bytes: 2KiB, repeated: 0.9}
threads: 2
durability: CLASS
phases:
  - {name: load, load: true, batch: 500}
  - {name: update, mix: {update: 1}, for: 600s, operations: 500}
  - {name: insert, mix: {insert: 1}, for: 600s, operations: 500}
blocks: 1
busy_machine: tell
verify_records: 10
`
