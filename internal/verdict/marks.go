package verdict

import (
	"assay/internal/finding"
	"assay/internal/record"
)

func marksOf(t *record.Trial) []finding.Mark { return t.CountedMarks() }

func machines(m finding.Mark) bool { return m.Machine() }

// whyOf says why a trial is not ok; the zero message where it is.
func whyOf(t *record.Trial, marks []finding.Mark) finding.Message {
	switch {
	case t.Cause != "":
		return t.Reason()
	case len(marks) > 0:
		return marks[0].Message
	}
	return finding.Message{}
}
