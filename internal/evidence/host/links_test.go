package host

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLinks(t *testing.T) {
	r := roots{t.TempDir(), t.TempDir()}
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	carried := func(loopback, received, sent, other string) Links {
		t.Helper()
		line := func(name, rx, tx string) string {
			return name + ": " + rx + " 0 0 0 0 0 0 0 " + tx + " 0 0 0 0 0 0 0\n"
		}
		write(filepath.Join(r.proc, "net", "dev"), strings.Join([]string{"Inter-|   Receive  |  Transmit\n",
			" face |bytes packets errs drop fifo frame compressed multicast|bytes packets errs drop fifo colls carrier compressed\n",
			line("lo", loopback, loopback), line("eth0", received, sent), line("veth1", other, other)}, ""))
		return readLinks(r)
	}
	write(filepath.Join(r.sys, "class", "net", "eth0", "speed"), "1000\n")
	write(filepath.Join(r.sys, "class", "net", "veth1", "speed"), "-1\n")
	before := carried("0", "1000", "1000", "0")
	busy, bytesPerS := before.Since(carried("900000000", "1000", "125001000", "200"), 2)
	if busy == nil || math.Abs(*busy-0.5) > 1e-9 || bytesPerS == nil || *bytesPerS != 62_500_000 {
		t.Errorf("busy %v, %v B/s: expected half of 1 Gb/s, loopback left out", busy, bytesPerS)
	}
	if busy, bytesPerS := before.Since(carried("0", "0", "0", "0"), 2); busy != nil || bytesPerS == nil || *bytesPerS != 0 {
		t.Errorf("a counter that fell is no measurement: %v, %v", busy, bytesPerS)
	}
	if busy, bytesPerS := readLinks(roots{t.TempDir(), t.TempDir()}).Since(before, 1); busy != nil || bytesPerS != nil {
		t.Errorf("without an interface: %v, %v", busy, bytesPerS)
	}
}
