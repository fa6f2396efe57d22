package export

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"assay/internal/analysis/facts"
	"assay/internal/base/format"
	"assay/internal/base/histogram"
	"assay/internal/evidence/record"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// HLog writes the latency histograms of a run in HdrHistogram's log format 1.3, for its own tools:
// an interval for each kind of operation, and each question, of each measured phase of each trial,
// tagged "trial/phase/operation", in ns. A bucket's middle stands for its values, which HDR keeps to three
// digits. Intervals begin in seconds after the run's creation, as nearly as is known: what a trial
// does between its phases is not recorded. The lines are written here, because the library's writer
// puts milliseconds where the format has seconds, and an interval's end for its length.
func HLog(w io.Writer, run *record.Run) error {
	run = run.ByGroup()
	base := run.Header.Created
	_, err := fmt.Fprintf(w, "#[Histogram log format version %s]\n#Assay run %s, experiment %s\n#[BaseTime: %s (seconds since epoch)]\n#[StartTime: %s (seconds since epoch), %s]\n%s\n",
		hdrhistogram.HISTOGRAM_LOG_FORMAT_VERSION, run.Header.ID, format.Clean(run.Header.Name), epochSeconds(base), epochSeconds(base), base.UTC().Format(time.RFC3339),
		`"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"`)
	if every := run.Experiment.TimedEvery; err == nil && every > 0 {
		_, err = fmt.Fprintf(w, "#[Latencies are of a sample: one operation in %d]\n", every)
	}
	if err != nil {
		return fmt.Errorf("writing the head of an HDR log: %w", err)
	}
	for _, planned := range run.Plan {
		trial := run.Trials[planned.ID]
		if trial == nil {
			continue
		}
		end := trial.Started.Sub(base)
		begins := end
		for _, phase := range trial.Phases {
			length := time.Duration(phase.ElapsedNS)
			if phase.GroupOf() == "" {
				begins = end
				end += length
			}
			for _, op := range slices.Concat(facts.QuestionsOf(&run.Experiment, phase.Operations), phase.Steps) {
				times := op.Service
				if op.Response != nil {
					times = op.Response
				}
				if !phase.Measured || times == nil || times.Count() == 0 {
					continue
				}
				tag := planned.ID + "/" + phase.Name + "/" + op.Name
				if err := writeInterval(w, tag, begins+time.Duration(phase.BeganNS), length, times); err != nil {
					return fmt.Errorf("writing the histogram of %s: %w", tag, err)
				}
			}
		}
	}
	return nil
}

func epochSeconds(t time.Time) string {
	return strconv.FormatFloat(float64(t.UnixMilli())/1000, 'f', 3, 64)
}

func writeInterval(w io.Writer, tag string, begins, length time.Duration, times *histogram.Histogram) error {
	h, err := hdrOf(times)
	if err != nil {
		return err
	}
	payload, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		return err
	}
	const nsPerMS = 1e6 // the unit of Interval_Max, by the format's convention for histograms in ns
	_, err = fmt.Fprintf(w, "Tag=%s,%.3f,%.3f,%.3f,%s\n", tagOf.Replace(format.Clean(tag)),
		begins.Seconds(), length.Seconds(), float64(h.Max())/nsPerMS, payload)
	return err
}

// tagOf replaces what a tag can't have.
var tagOf = strings.NewReplacer(",", "_", " ", "_", "\r", "_", "\n", "_")

func hdrOf(times *histogram.Histogram) (*hdrhistogram.Histogram, error) {
	h := hdrhistogram.New(1, histogram.ValueMax, 3)
	for bucket, n := range times.All() {
		if err := h.RecordValues(max(1, int64(histogram.Middle(bucket))), int64(n)); err != nil {
			return nil, err
		}
	}
	return h, nil
}
