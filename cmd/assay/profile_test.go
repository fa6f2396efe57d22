package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// recordingOf writes a recording of n requests, a thousand a second, and returns its name.
func recordingOf(t *testing.T, n int) string {
	t.Helper()
	var text strings.Builder
	text.WriteString("time_ms,op,key,key_size,size,ttl\n")
	for i := range n {
		op := "get"
		if i%10 == 0 {
			op = "set"
		}
		fmt.Fprintf(&text, "%d,%s,k%d,20,%d,%d\n", i, op, i*i%97, 100+i*i%97, i%2*60)
	}
	file := filepath.Join(t.TempDir(), "requests.csv")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestProfile(t *testing.T) {
	t.Parallel()
	file := recordingOf(t, 5000)
	e := assay(t, "profile", file)
	e.wants(t, 0)
	for _, want := range []string{"requests.csv: csv, 5,001 lines", "5,000 in 5.0 s: 1.00 k/s", "90 % get, 10 % set", "Key length  20 to 20 B", "2,500 requests have one, most often 60.0 s (2,500)", "An LRU"[3:]} {
		if !strings.Contains(e.stdout, want) {
			t.Errorf("no %q in\n%s", want, e.stdout)
		}
	}
	written := filepath.Join(t.TempDir(), "imitation.yaml")
	assay(t, "profile", file, "--write", written).wants(t, 0)
	assay(t, "run", written, "--dry-run").wants(t, 0)
	assay(t, "profile", file, "--sample", "1/0").wants(t, exitUsage, "expected 1/N")
	assay(t, "profile", file, "--columns", "when=ts").wants(t, exitUsage, "expected time=NAME")
	assay(t, "profile", "nowhere.csv").wants(t, exitUsage, "no such file")
	assay(t, "run", "memory", "--replay", file, "--dry-run").wants(t, 0)
	assay(t, "run", "put-get", "--replay", file, "--dry-run").wants(t, exitUsage, "--replay is for drivers")
}
