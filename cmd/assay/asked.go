package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"assay/internal/base/format"
	"assay/internal/evidence/record"
	"assay/internal/execution/conductor"
	"assay/internal/execution/control"
	"assay/internal/experiment"
	"assay/internal/experiment/read"
	"assay/store"
)

// askPatience is how long a server that the experiment names has to be opened before a run begins.
// One that takes longer is left to the trials.
const askPatience = 10 * time.Second

// asker opens the servers that an experiment names, before anything is planned: what they give as
// they are set is known by opening them alone. Each opening is none of a trial, so that nothing is
// emptied.
type asker struct {
	allowRemote bool
	answers     map[string]error // by what was asked
	// bytes that a server still takes before it refuses writes, by endpoints; none: it does not
	// tell
	room map[string]float64
}

func newAsker(allowRemote bool) *asker {
	return &asker{allowRemote, map[string]error{}, map[string]float64{}}
}

// lossWindows are those that a server is asked for where none is given, the shortest first.
var lossWindows = []time.Duration{time.Second, 3 * time.Second, 10 * time.Second, time.Minute}

// gives asks a server for the strongest of its driver's classes that its settings give.
func (a *asker) gives(s experiment.Store) *read.Given {
	if !a.asks(s) || len(s.Description.Durability) < 2 {
		return nil
	}
	var given read.Given
	claims := slices.SortedFunc(slices.Values(s.Description.Durability), func(a, b store.DurabilityClaim) int {
		return strings.Compare(string(b.Class), string(a.Class)) // the strongest first
	})
	for _, claim := range claims {
		windows := []time.Duration{0}
		if claim.Class == store.D2 {
			windows = lossWindows
		}
		for _, window := range windows {
			err := a.open(s, askedFor(claim.Class, window))
			if err == nil {
				given.Classes = append(given.Classes, read.DurabilityForm{Class: claim.Class, Window: window})
				break
			}
			if !isRefusal(err) {
				return nil // the plan or the trials report it
			}
			if given.Stronger == "" && len(given.Classes) == 0 {
				given.Stronger = record.Said(err.Error())
			}
		}
	}
	if len(given.Classes) == 0 {
		return nil
	}
	return &given
}

// asks reports whether the store is a server that may be asked.
func (a *asker) asks(s experiment.Store) bool {
	if !s.Outlives() || s.Missing != "" || len(s.Endpoints) == 0 {
		return false
	}
	remote := slices.ContainsFunc(s.Endpoints, func(endpoint string) bool { return !experiment.IsLoopback(endpoint) })
	return a.allowRemote || !remote
}

// open opens the store as a trial of the cell does, and closes it.
func (a *asker) open(s experiment.Store, cell experiment.Cell) error {
	key := fmt.Sprintf("%q", []any{s.Driver, s.Worker, s.Endpoints, s.Options, cell})
	if err, asked := a.answers[key]; asked {
		return err
	}
	told, err := openOnce(s, cell)
	a.answers[key] = err
	if room, known := told.Stats[store.RoomStat]; known {
		a.room[strings.Join(s.Endpoints, ", ")] = room
	}
	return err
}

// short says of which servers the room may not do for what the experiment loads. Keys are deleted when a
// trial ends; a server that keeps earlier values, or frees nothing by itself, takes all that was written.
func (a *asker) short(e *experiment.Experiment) (warnings []string) {
	for _, s := range e.Stores {
		at := strings.Join(s.Endpoints, ", ")
		room, known := a.room[at]
		if !known || !a.asks(s) {
			continue
		}
		loads := 0.0
		for _, cell := range e.Cells {
			loads += float64(cell.Records) * float64(e.RecordBytesMax(cell)) * float64(max(e.Blocks, 1))
		}
		if loads > room/roomFactor {
			warnings = append(warnings, fmt.Sprintf("%s at %s takes %s more before it refuses everybody's writes; "+
				"its trials load %s, and what phases write comes on top", s.Driver, at, format.Bytes(room), format.Bytes(loads)))
		}
	}
	return warnings
}

// roomFactor is how many times its loads a run may write beside them before it is warned of.
const roomFactor = 10

func openOnce(s experiment.Store, cell experiment.Cell) (told control.Inspected, err error) {
	command := s.Worker
	if len(command) == 0 {
		self, err := os.Executable()
		if err != nil {
			return told, err
		}
		command = []string{self, "worker"}
	}
	w, err := conductor.Start(command, io.Discard)
	if err != nil {
		return told, err
	}
	err = w.Call(control.Request{Command: control.CommandOpen, Open: &control.Open{
		Driver: s.Driver, Endpoints: s.Endpoints, Durability: cell.Durability, LossWindowNS: int64(cell.LossWindow),
		Options: s.OptionsIn(cell), Handles: cell.Handles, PoolHandles: cell.PoolHandles, Pipeline: cell.Pipeline,
		Threads: max(cell.Threads, 1),
	}}, askPatience, nil)
	if err == nil {
		if w.Call(control.Request{Command: control.CommandInspect}, askPatience, &told) == nil && len(told.Left) > 0 {
			what := fmt.Sprintf("%s at %s: %s", s.Driver, strings.Join(s.Endpoints, ", "), told.Left[0])
			err = &control.Error{Class: control.ClassRefused, Message: what}
		}
		err = cmp.Or(err, w.Call(control.Request{Command: control.CommandClose}, askPatience, nil))
	}
	if endErr := w.End(askPatience); err == nil {
		err = endErr
	}
	return told, err
}

func isRefusal(err error) bool {
	var no *control.Error
	return errors.As(err, &no) && no.Class == control.ClassRefused
}

// refusals are why the servers that the experiment names can't be measured in any of its cells, in the
// servers' words, and the class that one gives instead; none: each can, or is left to the trials.
func (a *asker) refusals(e *experiment.Experiment) (reasons []string, instead read.DurabilityForm) {
	for i, s := range e.Stores {
		if !a.asks(s) {
			continue
		}
		reason := a.refusal(e, i)
		if reason == "" {
			continue
		}
		if given := a.gives(s); given != nil {
			instead = given.Classes[0]
		} else if other := a.notOfClass(s); other != "" {
			reason = other
		}
		reasons = append(reasons, reason)
	}
	return reasons, instead
}

// refusal is what a server says in the first of the cells, if it can't be opened in any of them.
func (a *asker) refusal(e *experiment.Experiment, store int) (reason string) {
	for c, cell := range e.Cells {
		if e.Refusal(store, c) != nil {
			continue
		}
		err := a.open(e.Stores[store], cell)
		var answer *control.Error
		if err == nil || !errors.As(err, &answer) {
			return ""
		}
		if reason == "" {
			reason = record.Said(err.Error())
		}
	}
	return reason
}

// notOfClass is what keeps a server from being opened in the class that its settings do give: it refuses
// each other class for its settings alone.
func (a *asker) notOfClass(s experiment.Store) string {
	for _, claim := range s.Description.Durability {
		err := a.open(s, askedFor(claim.Class, 0))
		if err != nil && !strings.Contains(err.Error(), "can't reach "+string(claim.Class)) {
			return record.Said(err.Error())
		}
	}
	return ""
}

// askedFor is a cell in which a server is asked for a class.
func askedFor(class store.Durability, window time.Duration) experiment.Cell {
	return experiment.Cell{Durability: class, LossWindow: window, Threads: 1, Handles: experiment.PerThread}
}

// checkAnswers ends a run before its first trial where a server that it names says that it can't do what
// is asked: each of its trials would say the same. That is the run's result, and stands where one does.
func (a *asker) checkAnswers(out io.Writer, e *experiment.Experiment, text bool) error {
	reasons, instead := a.refusals(e)
	if len(reasons) == 0 {
		return nil
	}
	next := ""
	if instead.Class != "" {
		next = shellWords(withFlag(os.Args, "--durability", instead.String()))
	}
	if !text {
		if next != "" {
			reasons = append(reasons, "next: "+next)
		}
		return &exitError{exitTrials, errors.New(strings.Join(reasons, "\n"))}
	}
	fmt.Fprintln(out, "Nothing was measured:")
	for _, reason := range reasons {
		fmt.Fprintf(out, "  %s.\n", reason)
	}
	if next != "" {
		fmt.Fprintf(out, "Next       %s\n           The strongest class that the server gives as it is set.\n", next)
	}
	return &exitError{exitTrials, errors.New("no trial was begun")}
}

// withFlag returns a command with another value of a flag.
func withFlag(command []string, flag, value string) []string {
	var words []string
	for i := 0; i < len(command); i++ {
		switch {
		case command[i] == flag:
			i++
		case !strings.HasPrefix(command[i], flag+"="):
			words = append(words, command[i])
		}
	}
	words[0] = "assay"
	return append(words, flag, value)
}
