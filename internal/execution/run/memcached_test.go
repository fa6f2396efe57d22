package run

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay/internal/evidence/record"
	"assay/internal/execution/server"
	"assay/internal/presentation/live"
	"assay/store"
)

// startMemcached starts the real server as a trial does.
func startMemcached(t *testing.T) (endpoint string) {
	t.Helper()
	p, _ := programOf("memcached")
	i, err := server.Start(context.Background(), p, server.Request{
		Directory: t.TempDir(), Log: os.Stderr, Class: store.D0, Options: map[string]string{"threads": "2"}, Patience: time.Minute,
	})
	if errors.Is(err, server.ErrNotInstalled) {
		t.Skipf("SKIPPED: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := i.Stop(time.Minute); err != nil {
			t.Error(err)
		}
	})
	return i.Endpoint()
}

// ask sends a command of memcached's text protocol and returns the answer up to a line.
func ask(t *testing.T, endpoint, command, until string) string {
	t.Helper()
	connection, err := net.Dial("tcp", endpoint)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	if _, err := connection.Write([]byte(command)); err != nil {
		t.Fatal(err)
	}
	var answer strings.Builder
	for lines := bufio.NewScanner(connection); lines.Scan(); {
		if lines.Text() == until {
			return answer.String()
		}
		answer.WriteString(lines.Text() + "\n")
	}
	t.Fatalf("%q was answered with %q", command, answer.String())
	return ""
}

const memcachedRun = `name: real
stores: [{driver: memcached, worker: WORKER, endpoints: ['ENDPOINT'], options: {flush_at_open: FLUSH}}]
durability: D0
threads: [1, 2, 4, 8]
records: 300
blocks: 1
busy_machine: tell
keys: {format: decimal, digits: 12}
values: {bytes: 100}
phases:
  - {name: load, load: true}
  - {name: mixed, mix: {read: 3, update: 2, upsert: 1, insert: 1, read_modify_write: 2, compare_and_swap: 2, add: 1}, operations: 2000}
  - {name: deletes, mix: {read: 2, upsert: 2, delete: 1, insert: 1}, operations: 1000}
`

// No truthful server is accused, with and without emptying, with others' keys in it; and no other
// key is touched without being told.
//
// Fault (values): memcached holds keys of other programs
// Assay: a trial's keys begin with its name; it deletes its own and touches no other. "Not empty"
// is reported before the run
func TestRealMemcachedIsNotAccused(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	for _, flush := range []string{"false", "true"} {
		t.Run("flush_at_open="+flush, func(t *testing.T) {
			t.Parallel()
			endpoint := startMemcached(t)
			// A record of another program under the very key that Assay's would have without a name
			// of the trial before it.
			ask(t, endpoint, "set foreign 0 0 5\r\nvalue\r\n", "STORED")
			ask(t, endpoint, "set 000000000007 0 0 3\r\nour\r\n", "STORED")
			threads := "[1, 8]"
			if os.Getenv("ASSAY_LONG") != "" {
				threads = "[1, 2, 4, 8]"
			}
			text := strings.NewReplacer("[1, 2, 4, 8]", threads, "WORKER", fmt.Sprintf("['%s', worker]", os.Args[0]), "ENDPOINT", endpoint, "FLUSH", flush).Replace(memcachedRun)
			directory := filepath.Join(t.TempDir(), "run")
			var said heard
			result, err := runTextWith(context.Background(), text, directory,
				func(o *Options) { o.View = live.NewPlain(&said) })
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(said.String(), "is not empty: it holds 2 records") {
				t.Errorf("the run does not say that the server holds records:\n%s", said.String())
			}
			if result.Marked+result.Failed+result.Refused > 0 {
				run, err := record.Open(directory)
				if err != nil {
					t.Fatal(err)
				}
				for id, trial := range run.Trials {
					if len(codes(trial)) > 0 || trial.Error != "" {
						t.Errorf("%s: %s %v", id, trial.Error, trial.Marks)
					}
				}
			}
			items := ask(t, endpoint, "stats\r\n", "END")
			left := 2
			if flush == "true" {
				left = 0
			}
			if !strings.Contains(items, fmt.Sprintf("STAT curr_items %d\n", left)) {
				t.Errorf("the server holds other than %d records after the run:\n%s", left, items)
			}
			if found := ask(t, endpoint, "get foreign 000000000007\r\n", "END"); flush == "false" && found != "VALUE foreign 0 5\nvalue\nVALUE 000000000007 0 3\nour\n" {
				t.Errorf("others' records are now %q", found)
			}
		})
	}
}
