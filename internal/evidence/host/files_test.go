package host

import (
	"strings"
	"syscall"
	"testing"
)

func TestRaiseFiles(t *testing.T) {
	var before, after syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before) })
	less := before
	less.Cur /= 2
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &less); err != nil {
		t.Fatal(err)
	}
	if err := RaiseFiles(before.Max); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &after); err != nil || after.Cur != before.Max {
		t.Errorf("%+v, %v; want %d", after, err, before.Max)
	}
	// More than fs.nr_open no process may have, root's neither.
	err := RaiseFiles(1 << 40)
	if err == nil || !strings.Contains(err.Error(), "1,099,511,627,776") {
		t.Errorf("%v, want an error with the number", err)
	}
}
