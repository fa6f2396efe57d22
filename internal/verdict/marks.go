package verdict

import (
	"assay/internal/finding"
	"assay/internal/record"
)

// marksOf goes through a trial's counts again, whatever its marks say, and adds those that counts
// can't tell.
func marksOf(t *record.Trial) (marks []finding.Mark) {
	for _, f := range faultsOf(t) {
		marks = append(marks, finding.Mark{Message: finding.New("mark-"+finding.Code(f.code), "text", f.text), Phase: f.phase})
	}
	return marks
}

// machines reports whether a mark is the machine's fault rather than the store's: it costs the block,
// not the arm's rank.
func machines(m finding.Mark) bool {
	return fault{code: string(m.Code[len("mark-"):])}.machines()
}

// whyOf says why a trial is not ok; the zero message where it is.
func whyOf(t *record.Trial, marks []finding.Mark) finding.Message {
	switch {
	case t.Error != "":
		return finding.New("trial-error", "text", t.Error, "state", string(t.State))
	case len(marks) > 0:
		return marks[0].Message
	}
	return finding.Message{}
}
