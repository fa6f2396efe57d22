package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"assay/internal/evidence/host"
	"assay/internal/experiment"
	"assay/internal/experiment/plan"
)

// dataPlace is the directory on whose file system stores get their directories: --data, or the run
// directory, or what exists of its path.
func (f *runFlags) dataPlace(runDirectory string) string {
	place := runDirectory
	if f.data != "" {
		place = f.data
	}
	if absolute, err := filepath.Abs(place); err == nil { // without a working directory there is only what was given
		place = absolute
	}
	for {
		if _, err := os.Stat(place); err == nil || place == filepath.Dir(place) {
			return place
		}
		place = filepath.Dir(place)
	}
}

// tooLittleDisk says that the file system of a directory may not hold a trial; "" if nothing is
// known against it. It is a warning only: what an experiment needs is an estimate, and others may
// write to the disk, or make room, while it runs.
func tooLittleDisk(estimate plan.Estimate, place string) string {
	if estimate.DiskBytes == 0 {
		return "" // no store has files
	}
	free, err := host.FreeBytes(place)
	if err != nil {
		return fmt.Sprintf("free disk space is unknown: %v", err)
	}
	if text := estimate.TooLittle(free); text != "" {
		return fmt.Sprintf("in %s, %s, or another directory: --data", place, text)
	}
	return ""
}

// shortOf says what an experiment asks of this machine that it may not have.
func shortOf(e *experiment.Experiment, estimate plan.Estimate, place string) []string {
	return slices.DeleteFunc([]string{tooLittleDisk(estimate, place), plan.BeyondMemory(e, host.MemoryBytes()), plan.Scanning(e), plan.Emptying(e)}, func(text string) bool { return text == "" })
}

// warnOfNeed says it before a run begins.
func (f *runFlags) warnOfNeed(e *experiment.Experiment, runDirectory string) {
	for _, text := range shortOf(e, plan.EstimateOf(e, plan.Plan(e)), f.dataPlace(runDirectory)) {
		fmt.Fprintln(os.Stderr, "assay: warning:", text)
	}
}
