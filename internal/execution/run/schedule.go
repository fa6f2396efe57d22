package run

import (
	"context"
	"fmt"
	"time"

	"assay/internal/base/finding"
	"assay/internal/base/format"
	"assay/internal/evidence/record"
	"assay/internal/experiment"
	"assay/internal/experiment/plan"
)

// blocks runs what is left of each block, then again what the machine spoilt in it, and adds
// blocks.
func (r *running) blocks(ctx context.Context, left []plan.Trial) error {
	for block := 1; ; block++ {
		if block > r.lastBlock() {
			more, err := r.anotherBlock(block)
			if err != nil || len(more) == 0 {
				return err
			}
			left = more
		}
		now := ofBlock(left, block)
		if block == 2 {
			r.warnOfOverrun()
			r.warnOfBusyMachine()
		}
		for len(now) > 0 {
			for _, p := range now {
				if ctx.Err() != nil {
					r.result.Interrupted = true
				}
				if r.result.Interrupted {
					return nil
				}
				if err := r.trial(ctx, p); err != nil {
					return err
				}
			}
			var err error
			if now, err = r.again(block); err != nil {
				return err
			}
		}
		if ctx.Err() != nil || r.result.Interrupted {
			r.result.Interrupted = true
			return nil
		}
	}
}

func ofBlock(trials []plan.Trial, block int) (of []plan.Trial) {
	for _, p := range trials {
		if p.Block == block {
			of = append(of, p)
		}
	}
	return of
}

func (r *running) lastBlock() (last int) {
	for _, p := range r.plan {
		last = max(last, p.Block)
	}
	return last
}

// extend adds trials to the plan, on the disk first.
func (r *running) extend(more []plan.Trial) error {
	if err := r.writer.Extend(more); err != nil {
		return err
	}
	r.plan = append(r.plan, more...)
	return nil
}

// tries returns the tries of each trial of a block, or of all blocks for 0, in the order of the
// plan; nil for one that has not ended.
func (r *running) tries(block int) [][]*record.Trial {
	at := map[plan.Slot]int{}
	var all [][]*record.Trial
	for _, p := range r.plan {
		if block > 0 && p.Block != block {
			continue
		}
		i, known := at[p.Slot()]
		if !known {
			i = len(all)
			at[p.Slot()], all = i, append(all, nil)
		}
		all[i] = append(all[i], r.ended[p.ID])
	}
	return all
}

// spoilt reports whether nothing but the machines keeps a trial from being ranked.
func spoilt(t *record.Trial) bool {
	if t != nil && t.State == record.Failed && t.Cause == finding.CauseAgentLost {
		return true
	}
	if t == nil || t.State != record.Marked {
		return false
	}
	for _, m := range t.Marks {
		if !m.Machine() {
			return false
		}
	}
	return true
}

// warnOfOverrun says after the first block if the planned ones do not fit the time.
func (r *running) warnOfOverrun() {
	s := r.experiment.Schedule
	if expected := r.spent() * time.Duration(s.Blocks); s.Time > 0 && expected > s.Time {
		r.say(finding.BlocksOverParams{Seconds: s.Time.Seconds(), Expected: expected.Seconds()})
	}
}

// busyUsers is how many of the programs that use the CPU are named.
const busyUsers = 3

// warnOfBusyMachine says after the first block if the machine spoilt half of its trials of stores, or more, and what
// uses the CPU: what comes will not be ranked either.
func (r *running) warnOfBusyMachine() {
	disturbed, of := 0, 0
	for _, tries := range r.tries(1) {
		last := tries[len(tries)-1]
		if last == nil || last.Plan.Role == plan.Ceiling || last.State == record.Refused {
			continue
		}
		of++
		if spoilt(last) && last.State == record.Marked {
			disturbed++
		}
	}
	if disturbed == 0 || 2*disturbed < of {
		return
	}
	var users []string
	for _, u := range r.users.Largest(busyUsers) {
		users = append(users, fmt.Sprintf("%s (%s of a CPU)", u.Name, format.Percent(u.CPUs)))
	}
	r.say(finding.BusyBlockParams{Disturbed: disturbed, Of: of, Users: users})
}

// again plans the next tries of the trials of a block whose last try the machine spoilt, as far as
// tries are left and the time suffices. Once a later block has begun, the block is over: other
// blocks would disagree on what it met.
func (r *running) again(block int) ([]plan.Trial, error) {
	for _, t := range r.ended {
		if t.Plan.Block > block {
			return nil, nil
		}
	}
	repeats := 0
	for _, p := range r.plan {
		if p.Again > 0 {
			repeats++
		}
	}
	left := plan.RepeatsMax(r.plan) - repeats
	trials, over, noTime := len(ofBlock(r.plan, block)), 0, false
	var again []plan.Trial
	spent := r.spent()
	spent += spent / time.Duration(block) * time.Duration(r.lastBlock()-block) // what is planned comes first
	for _, tries := range r.tries(block) {
		last := tries[len(tries)-1]
		if !spoilt(last) {
			continue
		}
		takes := time.Duration(last.Seconds * float64(time.Second))
		tried := len(tries) > r.experiment.Repeats || len(again) >= left
		late := !tried && r.experiment.Time > 0 && spent+takes > r.experiment.Time
		if tried || late {
			over, noTime = over+1, noTime || late
			continue
		}
		spent += takes
		again = append(again, plan.Repeat(r.experiment, last.Plan, trials+len(again)))
	}
	if len(again) == 0 {
		if over > 0 && r.experiment.Repeats > 0 {
			r.say(finding.RepeatOverParams{Count: over, Block: block, NoTime: noTime})
		}
		return nil, nil
	}
	r.say(finding.RepeatBlockParams{Count: len(again), Block: block})
	return again, r.extend(again)
}

func (r *running) say(p finding.Parameters) {
	r.view.Message(finding.Text(finding.New(p)))
}

// spent is how long the run has taken, that before a --resume included.
func (r *running) spent() time.Duration { return r.before + time.Since(r.began) }

// anotherBlock plans a further block if there is to be one.
func (r *running) anotherBlock(block int) ([]plan.Trial, error) {
	s := r.experiment.Schedule
	if s.BlocksMax == 0 {
		return nil, nil
	}
	var open []string
	if s.Smallest > 0 || s.Detect > 0 {
		run, err := record.Open(r.options.Directory)
		switch {
		case err != nil:
		case s.Detect > 0:
			s.BlocksMax, err = r.toDetect(run, block)
		default:
			open, err = r.options.Undecided(run)
		}
		if err != nil {
			return nil, fmt.Errorf("looking at block %d: %w", block-1, err)
		}
	}
	spent := r.spent()
	why := end(s, block-1, open, spent)
	if _, timeOver := why.(finding.BlocksTimeParams); timeOver {
		if part := r.partOfBlock(block, spent); len(part) > 0 {
			return part, r.extend(part)
		}
	}
	if why != nil {
		r.say(why)
		return nil, nil
	}
	if s.Detect == 0 {
		r.say(finding.BlocksNextParams{Block: block, Most: s.BlocksMax, Open: open})
	}
	more := r.options.chosen(plan.Block(r.experiment, block))
	return more, r.extend(more)
}

// toDetect is how many blocks are run at most: as many as the noise of those that ran asks for.
func (r *running) toDetect(run *record.Run, block int) (most int, err error) {
	s := r.experiment.Schedule
	needed, err := r.options.ToDetect(run)
	if err != nil {
		return 0, err
	}
	most = min(max(needed, s.Blocks), s.BlocksMax)
	seconds := r.spent().Seconds() / float64(block-1) * float64(most)
	r.say(finding.BlocksPilotParams{Ran: block - 1, Blocks: needed, Most: s.BlocksMax, Share: s.Detect,
		Seconds: seconds})
	return most, nil
}

// partOfBlock is a block of those cells for which the time is left, all arms of each; nil: of none, or
// the block before was such a part. A cell is expected to take what it took in the mean.
func (r *running) partOfBlock(block int, spent time.Duration) (part []plan.Trial) {
	e := r.experiment
	took := make([]time.Duration, len(e.Cells))
	var trials time.Duration
	had := map[int]bool{}
	for _, p := range r.plan {
		if t := r.ended[p.ID]; t != nil {
			seconds := time.Duration(t.Seconds * float64(time.Second))
			took[p.Cell] += seconds
			trials += seconds
		}
		if p.Block == block-1 {
			had[p.Cell] = true
		}
	}
	if len(had) < len(e.Cells) || len(e.Cells) == 1 || trials == 0 {
		return nil
	}
	around := float64(spent) / float64(trials) // what is spent beside trials counts for all
	fits := map[int]bool{}
	var names []string
	for cell, sum := range took {
		takes := time.Duration(around * float64(sum) / float64(block-1))
		if spent+takes <= e.Time {
			spent += takes
			fits[cell] = true
			names = append(names, e.Cells[cell].Label(e))
		}
	}
	if len(fits) == 0 {
		return nil
	}
	for _, p := range r.options.chosen(plan.Block(e, block)) {
		if fits[p.Cell] {
			part = append(part, p)
		}
	}
	r.say(finding.BlocksPartParams{Block: block, Cells: names})
	return part
}

// end says why a run that may add blocks ends after so many, with so many comparisons open and so
// much time gone; nil: it does not. A block is expected to take what the others took in the mean, so
// that what trials cost beside their phases is known from the first block on.
func end(s experiment.Schedule, blocks int, open []string, spent time.Duration) finding.Parameters {
	switch {
	case s.Smallest == 0 && blocks >= s.BlocksMax:
		return finding.BlocksAllParams{Blocks: blocks}
	case s.Smallest > 0 && len(open) == 0:
		return finding.BlocksDecidedParams{Blocks: blocks, Share: s.Smallest}
	case blocks >= s.BlocksMax:
		return finding.BlocksMostParams{Blocks: blocks, Open: open}
	case s.Time > 0 && spent+spent/time.Duration(blocks) > s.Time:
		return finding.BlocksTimeParams{Blocks: blocks, Seconds: s.Time.Seconds(), Open: open}
	}
	return nil
}
