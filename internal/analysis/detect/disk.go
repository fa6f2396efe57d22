package detect

import (
	"math"
	"slices"
	"time"

	"assay/internal/analysis/facts"
	"assay/internal/base/finding"
	"assay/internal/evidence/record"
	"assay/internal/experiment/plan"
	"assay/store"
)

// presentShare is how much of what the live values take at best must be on the disk. Best is what a
// general compressor makes of blocks of 4 KiB; one that looks back over 128 KiB makes 0.8 of that,
// over a MiB 0.25 to 0.5: values are cut from a pool, which such a window sees again and again.
const presentShare = 0.25

// presentBytesMin: below it, sizes are of blocks and of what file systems keep beside the inode.
const presentBytesMin = 64 << 10

// allocatesAtOnce are the file systems on which a file's blocks are counted, or kept for it, as
// soon as it is written to: on others (ZFS, network and user-space file systems) they show late or
// never.
var allocatesAtOnce = []string{"ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "tmpfs"}

// detectNotOnDisk looks for embedded stores whose files are too small for what they acknowledged in
// a class that survives the process. The final check can't see that: it asks the process that made
// the promise.
func detectNotOnDisk(run *record.Run, _ []*facts.Table) []finding.Finding {
	var s sightings[finding.SeenSizesParams]
	for _, planned := range run.Plan {
		trial := run.Trials[planned.ID]
		if trial == nil || !keepsOnDisk(run, planned) {
			continue
		}
		if sizes, missing := notOnDisk(run, trial, planned); missing {
			s.add(sighting{finding.NotOnDisk, planned.Arm, sizes.Phase, planned.Cell}, sizes,
				finding.Evidence{Trial: planned.ID, Message: finding.New(sizes)})
		}
	}
	return s.findings(run, func(at sighting, seen *sighted[finding.SeenSizesParams]) finding.Parameters {
		return finding.NotOnDiskParams{At: seen.at, Values: seen.facts[0].Values,
			Disk: float64(seen.facts[0].Disk), Class: run.Experiment.Cells[at.cell].ClassText()}
	})
}

// keepsOnDisk reports whether a trial's store must have on the disk what it acknowledged.
func keepsOnDisk(run *record.Run, planned plan.Trial) bool {
	return planned.Store >= 0 && run.Experiment.Stores[planned.Store].KeepsFiles() &&
		run.Experiment.Cells[planned.Cell].Durability >= store.D1
}

// notOnDisk returns the first phase of the cell's class after which the values can't have been on
// the disk, with the sizes. Loads are of the store's weakest class.
func notOnDisk(run *record.Run, trial *record.Trial, planned plan.Trial) (seen finding.SeenSizesParams, missing bool) {
	best := bestShare(run)
	if best == 0 {
		return seen, false
	}
	written, counted := 0.0, true
	for i := range trial.Phases {
		p := &trial.Phases[i]
		if p.GroupOf() != "" {
			continue // its phase has what all groups wrote
		}
		if bytes := p.Process.WrittenBytes(); bytes != nil {
			written += float64(*bytes)
		} else {
			counted = false
		}
		sizes := &p.Sizes
		if p.Load || sizes.LogicalBytes == nil || sizes.Records == nil || sizes.DiskBytes == nil || mayHold(run,
			planned, p) {
			continue
		}
		if !counted && !slices.Contains(allocatesAtOnce, filesystemOf(run, trial)) {
			continue
		}
		// ordered keys may take almost nothing
		values := float64(*sizes.LogicalBytes) - float64(*sizes.Records)*float64(run.Experiment.Keys.BytesMax())
		least := values * best * presentShare
		if least < presentBytesMin || float64(*sizes.DiskBytes) >= least || counted && written >= least {
			continue
		}
		seen = finding.SeenSizesParams{Phase: p.Name, Values: values, Compressed: values * best, Disk: *sizes.DiskBytes}
		if counted {
			seen.Written = &written
		}
		return seen, true
	}
	return seen, false
}

// mayHold reports whether a store may still hold back so much of what it acknowledged in a phase
// that nothing follows: in D2 all of the last loss window.
func mayHold(run *record.Run, planned plan.Trial, p *record.Phase) bool {
	window := run.Experiment.Cells[planned.Cell].LossWindow
	return time.Duration(p.ElapsedNS)+time.Duration(p.Sizes.DrainSeconds*float64(time.Second)) < 2*window
}

// bestShare returns the smallest share that any compressor made of any of the run's values; 0: not
// known.
func bestShare(run *record.Run) float64 {
	best := math.Inf(1)
	for _, share := range run.Environment.ValueRatio {
		best = min(best, share)
	}
	for _, shares := range run.Environment.ValueRatios {
		for _, share := range shares {
			best = min(best, share)
		}
	}
	if math.IsInf(best, 1) {
		return 0
	}
	return best
}

func filesystemOf(run *record.Run, trial *record.Trial) string {
	if trial.QuotaMount != nil {
		return trial.QuotaMount.FileSystem
	}
	return run.Environment.Filesystem
}
