package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"assay/internal/base/clock"
	"assay/internal/evidence/host"
)

func TestDoctorReportsOtherProcesses(t *testing.T) {
	t.Parallel()
	said := func(foreign *float64) bool {
		for _, a := range ailmentsOf(host.Environment{CPUs: 4}, clock.TSC, t.TempDir(), foreign) {
			if strings.Contains(a.What, "Other processes") {
				return true
			}
		}
		return false
	}
	quiet, busy := 0.01, 0.5
	if said(nil) || said(&quiet) || !said(&busy) {
		t.Errorf("told of others: not measured %v, 1 %% %v, 50 %% %v", said(nil), said(&quiet), said(&busy))
	}
}

// What works is no lack; what does not is one, with the reason and what to do about it.
func TestDoctorReportsWhatCannotBeDone(t *testing.T) {
	t.Parallel()
	why := errors.New("because of the moon")
	one, many := 1.0, 256.0
	for _, c := range []struct {
		name  string
		found ability
		state string
		lacks string // a part of it; "": none
	}{
		{"limit", memoryLimitAbility(nil), "can be set", ""},
		{"no limit", memoryLimitAbility(why), "can't be set", "because of the moon"},
		{"loop", quotaAbility(host.QuotaLoop, "", nil), "ext4 over a loop device", ""},
		{"tmpfs", quotaAbility(host.QuotaTmpfs, "because of the moon", nil), "in memory only", "because of the moon"},
		{"no mount", quotaAbility("", "", why), "stop only", "because of the moon"},
		{"cold", coldAbility(host.PageCache{FileBytes: 4096}, nil), "can be dropped", ""},
		{"warm", coldAbility(host.PageCache{FileBytes: 8192, ResidentBytes: 4096}, nil), "4 of 8 KiB", "stay in memory"},
		{"not to be seen", coldAbility(host.PageCache{}, why), "not supported", "because of the moon"},
		{"true count", writesAbility(&one, ""), "counts 1 bytes for each", ""},
		{"over-count", writesAbility(&many, "because of the moon"), "not measured", "because of the moon"},
		{"no count", writesAbility(nil, "because of the moon"), "not measured", "because of the moon"},
		{"all workers", nativeAbility(nil), fmt.Sprintf("%d of %[1]d", len(natives)), ""},
		{"a worker less", nativeAbility(natives[:1]), fmt.Sprintf("%d of %d", len(natives)-1, len(natives)), natives[0].program},
		{"all of the JVM", jvmAbility(nil), fmt.Sprintf("%d of %[1]d", len(jvmPrograms)), ""},
		{"one of the JVM less", jvmAbility(jvmPrograms[1:2]), fmt.Sprintf("%d of %d", len(jvmPrograms)-1, len(jvmPrograms)), jvmPrograms[1].program},
		{"cargo", rustAbility("cargo 1.90.0", nil), "cargo 1.90.0", ""},
	} {
		if !strings.Contains(c.found.state, c.state) {
			t.Errorf("%s: its line is %q, want %q", c.name, c.found.state, c.state)
		}
		if !strings.Contains(c.found.lacks, c.lacks) || (c.lacks == "") != (c.found.lacks == "") || (c.lacks == "") != (c.found.remedy == "") {
			t.Errorf("%s: it lacks %q, remedy %q; want %q", c.name, c.found.lacks, c.found.remedy, c.lacks)
		}
		var told strings.Builder
		(&diagnosed{Abilities: []diagnosedAble{c.found.told()}}).printLacks(&told)
		if (c.lacks == "") != (told.Len() == 0) || !strings.Contains(told.String(), c.found.remedy) {
			t.Errorf("%s: the doctor says %q", c.name, told.String())
		}
	}
}

func TestDoctorLeavesNoPages(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	left, err := dropFreshPages(directory)
	if err != nil {
		t.Fatal(err)
	}
	if left.FileBytes != freshBytes {
		t.Errorf("it looked at %d bytes", left.FileBytes)
	}
	if remains, err := os.ReadDir(directory); err != nil || len(remains) > 0 {
		t.Errorf("it left %v (%v)", remains, err)
	}
}
