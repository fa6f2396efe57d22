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
// tagged "trial/phase/operation", in ns; of a phase whose rate or threads change over time, each piece of
// that time as well, tagged "trial/phase/over-time". A bucket's middle stands for its values, which HDR keeps to three
// digits. Intervals begin in seconds after the run's creation, as nearly as is known: what a trial
// does between its phases is not recorded. The lines are written here, because the library's writer
// puts milliseconds where the format has seconds, and an interval's end for its length.
func HLog(w io.Writer, run *record.Run) error {
	log := format.Shown(logOf(run.ByGroup()))
	_, err := fmt.Fprintf(w, "#[Histogram log format version %s]\n#Assay run %s, experiment %s\n#[BaseTime: %s (seconds since epoch)]\n#[StartTime: %s (seconds since epoch), %s]\n%s\n",
		hdrhistogram.HISTOGRAM_LOG_FORMAT_VERSION, log.Run, log.Experiment, epochSeconds(log.Base),
		epochSeconds(log.Base), log.Base.UTC().Format(time.RFC3339),
		`"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"`)
	if err == nil && log.TimedEvery > 0 {
		_, err = fmt.Fprintf(w, "#[Latencies are of a sample: one operation in %d]\n", log.TimedEvery)
	}
	if err != nil {
		return fmt.Errorf("writing the head of an HDR log: %w", err)
	}
	for _, i := range log.Intervals {
		if err := writeInterval(w, i); err != nil {
			return fmt.Errorf("writing the histogram of %s: %w", i.Tag, err)
		}
	}
	return nil
}

// histogramLog is all that a log says of a run: what is written is cleaned as a whole.
type histogramLog struct {
	Run, Experiment string
	Base            time.Time
	TimedEvery      uint64
	Intervals       []interval
}

// interval is a kind of operation in a phase.
type interval struct {
	Tag            string
	Begins, Length time.Duration
	Times          *histogram.Histogram
}

func logOf(run *record.Run) *histogramLog {
	log := &histogramLog{Run: run.Header.ID, Experiment: run.Header.Name, Base: run.Header.Created,
		TimedEvery: run.Experiment.TimedEvery}
	for _, planned := range run.Plan {
		trial := run.Trials[planned.ID]
		if trial == nil {
			continue
		}
		end := trial.Started.Sub(log.Base)
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
				log.Intervals = append(log.Intervals, interval{Tag: planned.ID + "/" + phase.Name + "/" + op.Name,
					Begins: begins + time.Duration(phase.BeganNS), Length: length, Times: times})
			}
			log.Intervals = append(log.Intervals, overTimeIn(planned.ID+"/"+phase.Name+"/"+OverTimeTag, begins, &phase)...)
		}
	}
	return log
}

// OverTimeTag ends the tag of intervals of a phase whose rate or threads change over time. They have all
// operations by when these were due, of closed load by when they ended.
const OverTimeTag = "over-time"

func overTimeIn(tag string, begins time.Duration, phase *record.Phase) (all []interval) {
	for i := range phase.Intervals {
		of := &phase.Intervals[i]
		if phase.Measured && of.Response != nil && of.Response.Count() > 0 {
			all = append(all, interval{Tag: tag, Begins: begins + time.Duration(of.FromNS),
				Length: time.Duration(of.ToNS - of.FromNS), Times: of.Response})
		}
	}
	return all
}

func epochSeconds(t time.Time) string {
	return strconv.FormatFloat(float64(t.UnixMilli())/1000, 'f', 3, 64)
}

func writeInterval(w io.Writer, i interval) error {
	h, err := hdrOf(i.Times)
	if err != nil {
		return err
	}
	payload, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		return err
	}
	const nsPerMS = 1e6 // the unit of Interval_Max, by the format's convention for histograms in ns
	_, err = fmt.Fprintf(w, "Tag=%s,%.3f,%.3f,%.3f,%s\n", tagOf.Replace(i.Tag),
		i.Begins.Seconds(), i.Length.Seconds(), float64(h.Max())/nsPerMS, payload)
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
