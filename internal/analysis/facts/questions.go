package facts

import (
	"slices"

	"assay/internal/evidence/record"
	"assay/internal/experiment"
	"assay/internal/experiment/trace"
)

// questionsOf returns phases with the questions of their operations in place of these: each query
// that an operation asks is a kind of its own.
func (t *Table) questionsOf(phases []*record.Phase) (apart []*record.Phase) {
	for _, p := range phases {
		of := *p
		of.Operations = QuestionsOf(&t.Run.Experiment, p.Operations)
		apart = append(apart, &of)
	}
	return apart
}

// QuestionsOf returns operations with their questions in place of those that ask.
func QuestionsOf(e *experiment.Experiment, operations []record.Operation) (apart []record.Operation) {
	for _, op := range operations {
		if len(op.Questions) == 0 {
			apart = append(apart, op)
		}
		for _, q := range op.Questions {
			asked := q.Operation
			asked.Name = questionName(e, op.Name, q.Query)
			apart = append(apart, asked)
		}
	}
	return apart
}

func questionName(e *experiment.Experiment, operation string, query int) string {
	return experiment.QuestionName(operation, e.Values.Queries[query].Name)
}

// rightOf fills in how many answers to each question were checked and are right. The worker checks
// each record that a query finds, where values are verified. Of what is counted the conductor holds
// the sum against what the records' columns say: it is known or not for all answers together.
func (t *Table) rightOf(kinds []Kind, phases []*record.Phase) {
	for _, p := range phases {
		for _, op := range p.Operations {
			for _, q := range op.Questions {
				checked := op.Name == trace.Query.String() && t.Run.Experiment.Verify ||
					op.Name == trace.Count.String() && q.ItemsOwed != nil
				name := questionName(&t.Run.Experiment, op.Name, q.Query)
				at := slices.IndexFunc(kinds, func(k Kind) bool { return k.Operation == name })
				if !checked || at < 0 {
					continue
				}
				if kinds[at].Right == nil {
					kinds[at].Right = new(uint64)
				}
				*kinds[at].Right += q.OK + q.Miss
			}
		}
	}
}
