package run

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/internal/base/finding"
	"assay/internal/evidence/record"
	"assay/internal/execution/server"
	"assay/internal/testkit/servertest"
	"assay/store"
)

// durableRun returns the trial of a short run in class D3 on a named server.
func durableRun(t *testing.T, driver, endpoint string) (*record.Trial, *record.Phase) {
	t.Helper()
	text := strings.NewReplacer("{driver: DRIVER, worker: WORKER}", fmt.Sprintf("{driver: %s, worker: %s, endpoints: ['%s']}", driver, own(), endpoint),
		"THREADS", "4", "150ms", "600s, operations: 3000", "binary, bytes: 16", "decimal").Replace(syncedText)
	directory := filepath.Join(t.TempDir(), "run")
	if _, err := runIn(text, directory, ""); err != nil {
		t.Fatal(err)
	}
	trial, _ := readable(t, directory, driver)
	if len(trial.Phases) != 1 || trial.Phases[0].Syncs == nil {
		t.Fatalf("%s: %s %s: %+v", driver, trial.State, trial.Error, trial.Phases)
	}
	return trial, &trial.Phases[0]
}

func startRedis(t *testing.T, directory string) (endpoint string) {
	t.Helper()
	p, _ := programOf("redis")
	i, err := server.Start(context.Background(), p, server.Request{
		Directory: directory, Log: os.Stderr, Class: store.D3, Patience: time.Minute,
		Options: servertest.WithoutLogin(p, map[string]string{"appendonly": "true", "appendfsync": "always"})})
	if err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
	t.Cleanup(func() {
		if err := i.Stop(time.Minute); err != nil {
			t.Error(err)
		}
	})
	return i.Endpoint()
}

// tellRedis returns the first line of an answer; "" without one.
func tellRedis(endpoint, command string) string {
	connection, err := net.Dial("tcp", endpoint)
	if err != nil {
		return ""
	}
	defer connection.Close()
	fmt.Fprintf(connection, "%s\r\n", command)
	line, _ := bufio.NewReader(connection).ReadString('\n')
	return strings.TrimSpace(line)
}

// freeEndpoint returns an address at which nothing listens.
func freeEndpoint(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// A setting that is changed while the phase runs is seen at its end.
//
// Fault (physics): a server's setting is changed in the phase (`appendfsync no`, `fsync = off`,
// another `sync_interval`)
// Assay: `durability-not-shown` (`class-changed`), asked at the end of each phase. Not found, but
// for its rate: one that is changed back in between
// With: postgres.TestLaterChangeOfASettingIsReported, nats.TestServerWhoseSyncIntervalChanges,
// cassandra.TestNodeEvidence, mongodb.TestEvidenceOfMongod
func TestServerWhoseSettingsChangeLosesTheClass(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	endpoint := startRedis(t, t.TempDir())
	ended, stop := make(chan struct{}), make(chan struct{})
	go func() { // as another client of the server would
		defer close(ended)
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
			}
			if told := tellRedis(endpoint, "DBSIZE"); strings.HasPrefix(told, ":") && told != ":0" {
				tellRedis(endpoint, "CONFIG SET appendfsync no")
				return
			}
		}
	}()
	trial, p := durableRun(t, "redis", endpoint)
	close(stop)
	<-ended
	if trial.State != record.Marked || !slices.ContainsFunc(trial.Marks,
		func(m finding.Mark) bool { return m.Code == finding.MarkClassChanged }) {
		t.Errorf("%s, %+v, %+v", trial.State, trial.Marks, p.Syncs)
	}
}

// A server that keeps its log in memory syncs as often as it likes: its class is a claim.
//
// Fault (physics): a server keeps its files in memory, or they can't be looked at
// Assay: a table of its own, whose title says "claimed by the store, not checked"
// With: detect.TestClaimedClassesHaveTablesOfTheirOwn
func TestServersFilesInMemoryAreNoDisk(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	directory, err := os.MkdirTemp("/dev/shm", "assay-test-")
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { os.RemoveAll(directory) })
	_, p := durableRun(t, "redis", startRedis(t, directory))
	if s := p.Syncs; s.Done != nil || !strings.Contains(s.Why, "is on no disk") {
		t.Errorf("%+v", s)
	}
}

// A counter that does not grow with the acknowledged writes shows no sync, whatever it was at first.
//
// Fault (physics): `etcd --unsafe-no-fsync`, which counts two syncs at its start
// Assay: `durability-not-shown` (`server-syncs-too-few`)
// With: record.TestNotDurable
func TestEtcdThatDoesNotSyncLosesTheClass(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	binary, err := exec.LookPath("etcd")
	if err != nil {
		t.Skip("SKIPPED: no etcd in PATH")
	}
	clients, peers := freeEndpoint(t), freeEndpoint(t)
	command := exec.Command(binary, "--data-dir", t.TempDir(), "--unsafe-no-fsync", "--listen-client-urls", "http://"+clients,
		"--advertise-client-urls", "http://"+clients, "--listen-peer-urls", "http://"+peers)
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = command.Process.Kill(); _ = command.Wait() }) // a killed process tells no more
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if connection, err := net.Dial("tcp", clients); err == nil {
			connection.Close()
			break
		}
		if time.Now().After(end) {
			t.Fatal("etcd does not answer")
		}
	}
	trial, p := durableRun(t, "etcd", clients)
	if !slices.ContainsFunc(trial.Marks, func(m finding.Mark) bool { return m.Code == finding.MarkServerSyncs }) {
		t.Errorf("%s %s, %+v, %+v", trial.State, trial.Error, trial.Marks, p.Syncs)
	}
}
