package report

import (
	"fmt"
	"io"

	"assay/internal/histogram"
	"assay/internal/record"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// HLog writes the latency histograms of a run in HdrHistogram's log format, for its own tools: an interval for each
// measured phase of each trial, tagged "trial/phase/operation", in ns. A bucket's middle stands for its values, which HDR
// keeps to three digits.
func HLog(w io.Writer, run *record.Run) error {
	out := hdrhistogram.NewHistogramLogWriter(w)
	start := run.Header.Created.UnixMilli()
	out.SetBaseTime(start)
	for _, write := range []func() error{
		out.OutputLogFormatVersion,
		func() error {
			return out.OutputComment("Assay run " + run.Header.ID + ", experiment " + oneLine(run.Header.Name))
		},
		func() error { return out.OutputStartTime(start) },
		out.OutputLegend,
	} {
		if err := write(); err != nil {
			return fmt.Errorf("writing the head of an HDR log: %w", err)
		}
	}
	for _, planned := range inOrder(run) {
		trial := run.Trials[planned.ID]
		if trial == nil {
			continue
		}
		begins := trial.Started.UnixMilli()
		for _, phase := range trial.Phases {
			ends := begins + phase.ElapsedNS/1e6
			for _, op := range phase.Operations {
				times := op.Service
				if op.Response != nil {
					times = op.Response
				}
				if !phase.Measured || times == nil || times.Count() == 0 {
					continue
				}
				h, err := hdrOf(times)
				if err != nil {
					return fmt.Errorf("converting the histogram of %s in %s of %s: %w", op.Name, phase.Name, planned.ID, err)
				}
				h.SetTag(planned.ID + "/" + phase.Name + "/" + op.Name)
				h.SetStartTimeMs(begins)
				h.SetEndTimeMs(ends)
				if err := out.OutputIntervalHistogram(h); err != nil {
					return fmt.Errorf("writing the histogram of %s in %s of %s: %w", op.Name, phase.Name, planned.ID, err)
				}
			}
			begins = ends
		}
	}
	return nil
}

func hdrOf(times *histogram.Histogram) (*hdrhistogram.Histogram, error) {
	h := hdrhistogram.New(1, histogram.ValueMax, 3)
	for bucket, n := range times.Counts {
		if n == 0 {
			continue
		}
		if err := h.RecordValues(max(1, int64(histogram.Middle(bucket))), int64(n)); err != nil {
			return nil, err
		}
	}
	return h, nil
}
