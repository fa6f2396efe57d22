package run

import (
	"bufio"
	"context"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assay/internal/base/finding"
	"assay/internal/evidence/host"
	"assay/internal/evidence/record"
	"assay/internal/experiment"
	"assay/internal/experiment/read"
	"assay/internal/presentation/model"
	"assay/internal/presentation/tell"
	"assay/store"
)

// startServer starts listen in a process of its own and returns where it listens.
func startServer(t *testing.T) (endpoint string) {
	t.Helper()
	c := exec.Command(os.Args[0], "listen", filepath.Join(t.TempDir(), "served"))
	c.Stderr = os.Stderr
	input, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { input.Close(); c.Wait() })
	line, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// serverRun runs a short experiment with the driver "distant" and returns its trial, its row and
// the report's page.
func serverRun(t *testing.T, endpoint, writesWhy string) (*record.Trial, model.Row, string) {
	t.Helper()
	text := strings.NewReplacer("600s, operations: 60000", "300ms", "worker:", "endpoints: ['"+endpoint+"'], worker:").Replace(inserts("distant", "D0", ""))
	trial, row, run := runCounted(t, text, "distant", writesWhy)
	return trial, row, html.UnescapeString(reported(t, run))
}

// standInRun runs 1,000 inserts of 4 KiB into a store, as if the kernel counted right here.
func standInRun(t *testing.T, driver, class string) (*record.Trial, model.Row, *record.Run) {
	t.Helper()
	text := strings.ReplaceAll(inserts(driver, class, ""), "600s, operations: 60000", "30s, operations: 1000")
	return runCounted(t, text, driver, "")
}

// runCounted runs an experiment as if the check of the kernel's count had found so much, and
// returns the trial and the first table's row of an arm.
func runCounted(t *testing.T, text, arm, writesWhy string) (*record.Trial, model.Row, *record.Run) {
	t.Helper()
	e, err := read.Load([]byte(text), "test.yaml", nil, read.Drivers{Describe: func(s experiment.Store) (store.Description, error) { return describe(s.Driver) }})
	if err != nil {
		t.Fatal(err)
	}
	directory := filepath.Join(t.TempDir(), "run")
	o, perByte := options(directory), 1.0
	o.checkWriteCount = func(string) (*float64, string) { return &perByte, writesWhy }
	if _, err := New(context.Background(), e, []byte(text), o); err != nil {
		t.Fatal(err)
	}
	trial := trialOf(t, directory, arm)
	if len(trial.Phases) < 2 {
		t.Fatalf("%s: %s", trial.State, trial.Error)
	}
	run, err := record.Open(directory)
	if err != nil {
		t.Fatal(err)
	}
	s, err := tell.Result(run)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range s.Tables[0].Rows {
		if r.Arm == arm {
			return trial, r, run
		}
	}
	t.Fatal("the store has no row")
	return nil, model.Row{}, nil
}

func TestServersMemoryAndCPUAreTheStores(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	trial, row, page := serverRun(t, startServer(t), "")
	p := &trial.Phases[0].Process
	if p.ServerWhy != "" || p.ServerRSSMaxBytes == nil || p.ServerCPUSeconds == nil || p.ServerHostReadBytes == nil {
		t.Fatalf("the server was not measured: %+v", p)
	}
	used := 0.0 // over all phases: one may be shorter than a tick of the kernel's count
	for i := range trial.Phases {
		used += *trial.Phases[i].Process.ServerCPUSeconds
	}
	if *p.ServerRSSMaxBytes < serverHoldsBytes || used <= 0 {
		t.Errorf("the server, which holds %d bytes, has %d, and used %v s", serverHoldsBytes, *p.ServerRSSMaxBytes, used)
	}
	if row.MemoryBytes == nil || *row.MemoryBytes != float64(*p.RSSMaxBytes+*p.ServerRSSMaxBytes) {
		t.Errorf("memory is %v, the client's %d, the server's %d", row.MemoryBytes, *p.RSSMaxBytes, *p.ServerRSSMaxBytes)
	}
	client := *p.CPUSeconds * 1e9 / float64(p0Operations(trial))
	if row.CPUNS != nil && *row.CPUNS <= client { // nil: too few ticks for a figure
		t.Errorf("CPU an operation is %v, the client's alone %v", *row.CPUNS, client)
	}
	if p.HostWriteBytes == nil || *p.HostWriteBytes == 0 || p.HostWriteSource != record.WritesOfServer {
		t.Errorf("host writes: %v of %q: %s", p.HostWriteBytes, p.HostWriteSource, p.HostWriteWhy)
	}
	if !strings.Contains(page, "Memory and CPU of distant are server and client together") {
		t.Error("the report does not say whose they are")
	}
}

func p0Operations(trial *record.Trial) (done uint64) {
	for _, o := range trial.Phases[0].Operations {
		done += o.Done()
	}
	return done
}

func TestHostWritesOfAServerNeedAKernelThatCountsRight(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	trial, _, _ := serverRun(t, startServer(t), tooMuch)
	if p := trial.Phases[0].Process; p.HostWriteBytes != nil || p.HostWriteWhy != tooMuch ||
		p.ServerRSSMaxBytes == nil {
		t.Errorf("%+v", p)
	}
}

// Where the server can't be looked at, the client's figures are not the store's.
func TestServerOutOfSightIsNotMeasured(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	trial, row, page := serverRun(t, "192.0.2.1:9", "") // an address of no machine (RFC 5737)
	p := trial.Phases[0].Process
	if p.RSSMaxBytes == nil || p.CPUSeconds == nil {
		t.Errorf("the client's own figures are gone: %+v", p)
	}
	if !strings.Contains(p.ServerWhy, "192.0.2.1:9") || p.HostWriteWhy != p.ServerWhy || p.HostWriteBytes != nil {
		t.Errorf("%+v", p)
	}
	if row.MemoryBytes != nil || row.CPUNS != nil || row.WriteAmplification != nil {
		t.Errorf("memory %v, CPU an operation %v, write amplification %v", row.MemoryBytes, row.CPUNS, row.WriteAmplification)
	}
	if !strings.Contains(page, "Memory and CPU of distant are incomplete: "+p.ServerWhy) {
		t.Error("the report does not say why")
	}
}

func TestMemoryThatCountsTwiceIsReported(t *testing.T) {
	var most memoryMost
	most.see(host.Usage{Server: &host.ServerUse{RSSBytes: 8, SharedWhy: "it may not be read"}})
	most.see(host.Usage{Server: &host.ServerUse{RSSBytes: 4}})
	tested := underTest{store: experiment.Store{Description: store.Description{Kind: store.Server}}}
	var p record.Process
	tested.used(&p, host.Interval{}, most.server, most.shared)
	if p.ServerRSSMaxBytes == nil || *p.ServerRSSMaxBytes != 8 || p.ServerSharedWhy != "it may not be read" {
		t.Errorf("%+v", p)
	}
}

// A client that burns CPU beside each operation is reported, unless others took the CPU that it
// would have burnt; one that waits for its server is not.
func TestClientThatBurnsCPUIsReported(t *testing.T) {
	t.Parallel()
	ofFigures(t)
	for _, driver := range []string{"burning", "waiting"} {
		text := strings.NewReplacer("threads: 2", "threads: 1", "600s, operations: 60000", "500ms", "worker:", "endpoints: ['"+startServer(t)+"'], worker:").Replace(inserts(driver, "D0", ""))
		trial, _, run := runCounted(t, text, driver, "")
		result, err := tell.Result(run)
		if err != nil {
			t.Fatal(err)
		}
		told := slices.ContainsFunc(result.Findings,
			func(f finding.Finding) bool { return f.Code == finding.ClientBound })
		p := &trial.Phases[0]
		if p.Process.CPUSeconds == nil || p.Process.ServerCPUSeconds == nil {
			t.Fatalf("%s: %s: the use of client and server is not known: %+v", driver, trial.Error, p.Process)
		}
		others := p.Machine == nil || p.Machine.Foreign == nil || p.Machine.Foreign.Most > 0.05
		if burns := driver == "burning"; told && !burns || !told && burns && !others {
			t.Errorf("%s: client-bound %v; the client used %v s of CPU in %d ns, others %+v", driver, told, *p.Process.CPUSeconds, p.ElapsedNS, p.Machine)
		}
	}
}
