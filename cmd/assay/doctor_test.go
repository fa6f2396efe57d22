package main

import (
	"strings"
	"testing"

	"assay/internal/clock"
	"assay/internal/host"
)

func TestDoctorTellsOfOthers(t *testing.T) {
	t.Parallel()
	said := func(foreign *float64) bool {
		for _, a := range ailmentsOf(host.Environment{CPUs: 4}, clock.TSC, t.TempDir(), foreign) {
			if strings.Contains(a.what, "Other processes") {
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
