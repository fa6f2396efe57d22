package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"assay/internal/base/format"
	"assay/internal/execution/crash"
	"assay/internal/execution/powercut"
	"assay/internal/experiment"
	"assay/internal/presentation/loss"
)

// printCrashes writes a report for a person: a table, then what was refuted and how to see it again.
func printCrashes(w io.Writer, r *crash.Report) error {
	if len(r.Results) == 0 {
		_, err := fmt.Fprintf(w, "%s: no store was tested%s.\n", kindText[r.Kind], map[bool]string{true: ", the test was stopped"}[r.Stopped])
		return err
	}
	fmt.Fprintf(w, "%s\n\n", howCut(r))
	severalSystems := len(fileSystemsOf(r)) > 1
	table := newColumns("store", "class", "result", "cuts", "records", "most lost", "opens in", "writes/s", "on the rig")
	for i := range r.Results {
		result := &r.Results[i]
		cuts, records, lost, opens := "–", "–", "–", "–"
		if n := len(result.Cuts); n > 0 {
			cuts = fmt.Sprint(n)
			if result.Broken > 0 {
				cuts = fmt.Sprintf("%d of %d broken", result.Broken, n)
			}
			records, lost, opens = cutRecords(result), mostLost(result), openTimes(result)
		}
		class := result.ClassText()
		if result.Servers > 0 {
			class += fmt.Sprintf(", %d servers", result.Servers)
		}
		if severalSystems {
			class += " on " + result.FileSystem
		}
		disk, rig := ratesOf(result)
		table.add(result.Store, class, string(result.State), cuts, records, lost, opens, disk, rig)
	}
	table.dropEmpty()
	if err := table.print(w); err != nil {
		return err
	}
	fmt.Fprintln(w)
	for i := range r.Results {
		result := &r.Results[i]
		name := fmt.Sprintf("%s (%s)", result.Store, result.ClassText())
		if severalSystems {
			name = fmt.Sprintf("%s (%s on %s)", result.Store, result.ClassText(), result.FileSystem)
		}
		if n := len(result.Cuts) - result.Looked(); n > 0 {
			fmt.Fprintf(w, "%s: the file system did not recover from %s, which are not counted.\n", name, format.Plural(n, "cut", ""))
		}
		switch result.State {
		case crash.Refuted:
			fmt.Fprintf(w, "%s is refuted. %s.\n", name, result.Why)
			for _, example := range result.Worst(r.Kind).Examples {
				fmt.Fprintf(w, "  %s\n", example)
			}
			fmt.Fprintf(w, "  Least work before it: assay crash %s --kind %s%s --durability '%s' --seed %d --cuts %d --cut %d\n",
				result.Store, r.Kind, rigFlags(r, result), result.ClassText(), r.Seed, r.Cuts,
				result.Smallest(r.Kind).Number)
			if result.Case != "" {
				fmt.Fprintf(w, "  The same disk again: assay crash --replay %s\n", result.Case)
			}
		case crash.NoPromise:
			printWindow(w, name, result)
		case crash.NotPassing, crash.NotTested:
			fmt.Fprintf(w, "%s was %s: %s.\n", name, result.State, result.Why)
		}
	}
	printComebacks(w, r)
	printFaults(w, r)
	printForgiven(w, r)
	printRigCost(w, r)
	if err := loss.Text(w, lossPoints(r)); err != nil {
		return err
	}
	if slices.ContainsFunc(r.Results, func(r crash.Result) bool { return r.State == crash.Kept }) {
		fmt.Fprintln(w, keptText[r.Kind])
	}
	return nil
}

// howCut says how the stores were cut off.
func howCut(r *crash.Report) string {
	how := kindText[r.Kind]
	if r.Rig != nil {
		how += fmt.Sprintf(" (%s, rig version %d)", strings.Join(fileSystemsOf(r), ", "), r.Rig.Version)
		if r.Rig.MountOptions != "" {
			how += ", mounted with " + r.Rig.MountOptions
		}
		if r.Rig.SectorBytes != powercut.SectorBytesMin {
			how += fmt.Sprintf(", sectors of %d bytes", r.Rig.SectorBytes)
		}
		if r.Rig.IgnoresFlushes {
			how += ", a disk that IGNORES FLUSHES"
		}
		if r.Fault != "" {
			how += fmt.Sprintf(", after an injected error (%s)", r.Fault)
		}
	}
	if slices.ContainsFunc(r.Results, func(result crash.Result) bool { return result.OneNode }) {
		how += ", of one server while the others went on"
	}
	return fmt.Sprintf("%s, seed %d. Every record was read back after each cut.", how, r.Seed)
}

const ratesNote = "Rates are of the single writes of one short life on the disk, and are no comparison: assay run makes those."

// ratesOf are the rates of single writes on the disk and on the rig.
func ratesOf(r *crash.Result) (disk, rig string) {
	disk, rig = "–", "–"
	if r.Rate != nil && r.Rate.DiskPerSecond > 0 {
		disk = format.Rate(r.Rate.DiskPerSecond)
	}
	if r.Rate != nil && r.Rate.RigPerSecond > 0 {
		rig = format.Rate(r.Rate.RigPerSecond)
	}
	return disk, rig
}

// printRigCost says how much slower, or faster, stores are on the rig.
func printRigCost(w io.Writer, r *crash.Report) {
	var factors []float64
	for i := range r.Results {
		if rate := r.Results[i].Rate; rate != nil && rate.DiskPerSecond > 0 && rate.RigPerSecond > 0 {
			factors = append(factors, rate.RigPerSecond/rate.DiskPerSecond)
		}
	}
	if len(factors) > 0 {
		fmt.Fprintf(w, "Rate on the rig, whose flushes reach no device, over the rate on the disk: %s to %s. %s\n",
			format.Factor(slices.Min(factors)), format.Factor(slices.Max(factors)), ratesNote)
	}
}

// lossPoints are the results as points of the picture: those with a rate that cuts were made of.
func lossPoints(r *crash.Report) (points []loss.Point) {
	several := len(fileSystemsOf(r)) > 1
	for i := range r.Results {
		result := &r.Results[i]
		if result.Rate == nil || result.Loss == nil || r.Fault != "" {
			continue
		}
		name := fmt.Sprintf("%s (%s)", result.Store, result.ClassText())
		if several {
			name = fmt.Sprintf("%s (%s on %s)", result.Store, result.ClassText(), result.FileSystem)
		}
		w := result.Loss
		points = append(points, loss.Point{Name: name, Rate: result.Rate.DiskPerSecond, Median: w.Median,
			Low: w.Low, High: w.High, Worst: w.Worst,
			Records: w.Records, RecordsWorst: w.RecordsMax, Cuts: w.Cuts, LostAll: w.LostAll,
			Refused: result.Looked() - w.Cuts})
	}
	return points
}

// printComebacks says whether servers started again whose power was cut while others went on, and when.
func printComebacks(w io.Writer, r *crash.Report) {
	for i := range r.Results {
		result := &r.Results[i]
		back := result.Back()
		if back == nil {
			continue
		}
		name := fmt.Sprintf("%s (%s)", result.Store, result.ClassText())
		if n := back.Tried - back.NotBack; n > 0 {
			fmt.Fprintf(w, "%s: after %d of %d cuts the server was back, in %s (median), at most %s.\n", name, n, back.Tried,
				format.Duration(back.Median), format.Duration(back.Worst))
		}
		if first := back.First; first != nil {
			fmt.Fprintf(w, "%s: after %d of %d cuts the server did not start again", name, back.NotBack, back.Tried)
			if result.State == crash.Kept {
				fmt.Fprint(w, "; the others had every acknowledged write, which is all that the class promises")
			}
			fmt.Fprintf(w, ".\n  Cut %d, server %d, given up after %s: %s\n", first.Number, first.Node, format.Duration(time.Duration(first.Return.NS)), first.Return.Why)
		}
		if lacking := back.Lacking; lacking != nil {
			after := lacking.Return.After
			fmt.Fprintf(w, "%s: once the server was back, reads missed up to %s of %s records, since it counts without the end of its log until a repair.\n",
				name, format.Count(after.Missing()), format.Count(after.Records))
			if damage := after.Damage(); damage != "" {
				fmt.Fprintf(w, "  Cut %d: %s\n", lacking.Number, damage)
			}
		}
	}
}

// printFaults says how stores took the errors.
func printFaults(w io.Writer, r *crash.Report) {
	for i := range r.Results {
		result := &r.Results[i]
		stopped, errors, after, how := 0, uint64(0), 0, ""
		for _, f := range result.Faults {
			errors += f.Errors
			if f.Stopped != "" {
				stopped++
				how = f.Stopped
			} else if f.After > 0 {
				after++
			}
		}
		if len(result.Faults) == 0 {
			continue
		}
		fmt.Fprintf(w, "%s (%s): %s with an injected error. %s reported an error; after it, the store went on in %d and ended itself in %d.\n",
			result.Store, result.ClassText(), format.Plural(len(result.Faults), "run", ""), format.Plural(int(errors), "operation", ""), after, stopped)
		if how != "" {
			fmt.Fprintf(w, "  It last ended with: %s\n", how)
		}
	}
}

// printForgiven names the stores that a real file system forgives what POSIX does not.
func printForgiven(w io.Writer, r *crash.Report) {
	for i := range r.Results {
		strict := &r.Results[i]
		if strict.FileSystem != experiment.StrictFileSystem || strict.State != crash.Refuted {
			continue
		}
		var kept []string
		for j := range r.Results {
			if other := &r.Results[j]; other.Store == strict.Store && other.ClassText() == strict.ClassText() &&
				other.State == crash.Kept {
				kept = append(kept, other.FileSystem)
			}
		}
		if len(kept) > 0 {
			fmt.Fprintf(w, "%s (%s): kept on %s, lost where the standard allows it.\n", strict.Store, strict.ClassText(), strings.Join(kept, ", "))
		}
	}
}

// fileSystemsOf are those whose disks were cut off.
func fileSystemsOf(r *crash.Report) (all []string) {
	for i := range r.Results {
		if name := r.Results[i].FileSystem; !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

// rigFlags are the flags that make the same rig.
func rigFlags(r *crash.Report, result *crash.Result) (flags string) {
	if r.Rig != nil && result.FileSystem != powercut.DefaultFileSystem {
		flags += " --fs " + result.FileSystem
	}
	if result.MountOptions != "" {
		flags += " --mount-options " + result.MountOptions
	}
	if r.Rig != nil && r.Rig.SectorBytes != powercut.SectorBytesMin {
		flags += fmt.Sprintf(" --sector %d", r.Rig.SectorBytes)
	}
	if r.Rig != nil && r.Rig.IgnoresFlushes {
		flags += " --ignore-flushes"
	}
	if r.Fault != "" {
		flags += " --fault " + string(r.Fault)
	}
	if result.Servers > 0 {
		flags += fmt.Sprintf(" --servers %d", result.Servers)
	}
	if result.OneNode {
		flags += " --one-node"
	}
	return flags
}

// printWindow says what was lost in a class that promises nothing.
func printWindow(w io.Writer, name string, r *crash.Result) {
	window := r.Window()
	if window == nil {
		fmt.Fprintf(w, "%s promises nothing here: it opened after none of %d cuts.\n", name, len(r.Cuts))
		return
	}
	fmt.Fprintf(w, "%s promises nothing here. Lost: median %s (95 %% interval %s to %s), at most %s; %s records, at most %s.\n", name,
		format.Duration(window.Median), format.Duration(window.Low), format.Duration(window.High),
		format.Duration(window.Worst),
		format.Count(window.Records), format.Count(window.RecordsMax))
	if window.LostAll > 0 {
		fmt.Fprintf(w, "  %d of %d cuts left nothing of the load: a longer one would have lost more.\n", window.LostAll, window.Cuts)
	}
	for i := range r.Cuts {
		if damage := r.Cuts[i].Damage(); damage != "" {
			fmt.Fprintf(w, "  Cut %d: %s\n", r.Cuts[i].Number, damage)
			break
		}
	}
}

var kindText = map[crash.Kind]string{
	crash.Kill:  "Cut off by kill -9",
	crash.Power: "Cut off by a power cut",
}

var keptText = map[crash.Kind]string{
	crash.Kill:  "kept: every acknowledged write survived the process. What a power cut leaves was not tested.",
	crash.Power: "kept: no cut broke the promise of the class, on this file system.",
}

// cutRecords is how many records were read back, at the most.
func cutRecords(r *crash.Result) string {
	most := uint64(0)
	for _, c := range r.Cuts {
		most = max(most, c.Records)
	}
	return "up to " + format.Count(most)
}

func mostLost(r *crash.Result) string {
	worst := slices.MaxFunc(r.Cuts, func(a, b crash.Cut) int { return int(a.Missing()) - int(b.Missing()) })
	if worst.Missing() == 0 {
		return "none"
	}
	return fmt.Sprintf("%s, %s", format.Count(worst.Missing()), format.Duration(time.Duration(worst.LossNS)))
}

// openTimes are the median and the longest time that opening took.
func openTimes(r *crash.Result) string {
	var times []time.Duration
	for _, c := range r.Cuts {
		if c.Opened {
			times = append(times, time.Duration(c.OpenNS))
		}
	}
	if len(times) == 0 {
		return "never"
	}
	slices.Sort(times)
	return fmt.Sprintf("%s, at most %s", format.Duration(times[len(times)/2]), format.Duration(times[len(times)-1]))
}
