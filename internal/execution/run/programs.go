package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"time"

	"assay/internal/base/owned"
	"assay/internal/evidence/host"
	"assay/internal/evidence/record"
	"assay/internal/execution/server"
	"assay/internal/experiment"
)

// programs hashes the program of each worker of the experiment, and of each server that Assay
// starts, so that one that was built or installed anew in between is seen. What can't be read is
// left out: its trials will fail and say why.
func programs(e *experiment.Experiment, o Options) map[string]string {
	hashes := map[string]string{}
	add := func(name, program string) {
		path, err := exec.LookPath(program)
		if err != nil {
			path = program // a script need not be executable
		}
		if hash, err := digests.File(path); err == nil {
			hashes[name] = hash
		}
	}
	if len(o.Worker) > 0 {
		add(host.OwnProgram, o.Worker[0])
	}
	for _, s := range slices.Concat(e.Stores, e.Ceilings) {
		if program, starts := o.programOf(s); starts {
			if binary, err := program.Find(); err == nil {
				add(binary, binary)
			}
		}
		if len(s.Worker) == 0 {
			continue
		}
		add(s.Worker[0], s.Worker[0])
		if script := firstFile(s.Worker[1:]); script != "" {
			add(script, script)
		}
	}
	return hashes
}

// programOf returns the program of the server that Assay starts for a store, if it starts one.
func (o Options) programOf(s experiment.Store) (p server.Program, starts bool) {
	if s.Server == nil || o.Program == nil {
		return p, false
	}
	p, starts = o.Program(s.Driver)
	return p.By(s.Server.Binary()), starts
}

// firstFile returns the first of a command's arguments that is a file: what an interpreter is to
// run; "": none is.
func firstFile(arguments []string) string {
	for _, argument := range arguments {
		if info, err := os.Stat(argument); err == nil && info.Mode().IsRegular() {
			return argument
		}
	}
	return ""
}

// serverPrograms are those of the servers that a run starts. Each must stay what it was: trials of two
// versions are no blocks of one comparison.
type serverPrograms map[string]identity // by store

// identity is what tells whether a server's program is still the same.
type identity struct{ binary, product, version, sha256 string }

func (i identity) String() string {
	return fmt.Sprintf("%s %s, SHA-256 %s", i.product, i.version, i.sha256)
}

// newServerPrograms knows the programs of the trials that ended before a run was resumed.
func newServerPrograms(e *experiment.Experiment, before map[string]*record.Trial) serverPrograms {
	p := serverPrograms{}
	for _, t := range before {
		if s := t.Server; s != nil && s.SHA256 != "" && t.Plan.Store >= 0 {
			p[e.Stores[t.Plan.Store].Name] = identity{s.Binary, s.Product, s.Version, s.SHA256}
		}
	}
	return p
}

// check returns the digest of a store's program. The error says that it is another one than before. One
// that was never started, and can't be, is its trial's matter.
func (p serverPrograms) check(ctx context.Context, store string, program server.Program) (digest string, err error) {
	was, known := p[store]
	now, err := p.identify(ctx, program)
	switch {
	case ctx.Err() != nil, err != nil && !known:
		return "", nil
	case err != nil:
		return "", fmt.Errorf("the program of %s was %s in the trials before, and can't be used any more: %w", store, was, err)
	case known && now != was:
		return "", fmt.Errorf("the program of %s changed in the run: %s was %s, and %s is %s\nrun it anew: trials of two programs can't be compared",
			store, was.binary, was, now.binary, now)
	}
	p[store] = now
	return now.sha256, nil
}

func (p serverPrograms) identify(ctx context.Context, program server.Program) (is identity, err error) {
	if is.binary, err = program.Find(); err != nil {
		return is, err
	}
	told, err := program.Identify(ctx, is.binary)
	if err != nil {
		return is, err
	}
	is.product, is.version = told.Product, told.Version
	is.sha256, err = program.Digest(is.binary, digests.File)
	return is, err
}

// ErrProgram is wrapped by the error of [New] where a program that the experiment names can't be
// started as a server.
var ErrProgram = errors.New("no server starts")

// build builds the programs of servers that the experiment names by a commit.
func (o Options) build(ctx context.Context, e *experiment.Experiment) error {
	stores := make([]*experiment.Store, len(e.Stores))
	for i := range e.Stores {
		stores[i] = &e.Stores[i]
	}
	if err := server.BuildFor(ctx, o.View.Message, stores...); err != nil {
		return fmt.Errorf("%w: %w", ErrProgram, err)
	}
	return nil
}

// tryPrograms starts the servers whose programs the experiment names, each once, before anything is
// planned or written: what is no server would fail each of its trials.
func tryPrograms(ctx context.Context, e *experiment.Experiment, o Options) error {
	type tried struct{ driver, program string }
	done := map[tried]bool{}
	for i, s := range e.Stores {
		program, starts := o.programOf(s)
		if !starts || s.Server.Binary() == "" || s.Missing != "" || done[tried{s.Driver, s.Server.Binary()}] {
			continue
		}
		cell := 0
		for cell < len(e.Cells) && e.Refusal(i, cell) != nil {
			cell++
		}
		if cell == len(e.Cells) {
			continue // the plan says why none of its trials is begun
		}
		done[tried{s.Driver, s.Server.Binary()}] = true
		where, err := o.dataPlace()
		if err != nil {
			return err
		}
		tested := underTest{store: s, cell: e.Cells[cell]}
		if err := tested.tryOut(ctx, program, where, e.StepTimeout); err != nil && ctx.Err() == nil {
			return fmt.Errorf("%w for %s by %s: %w", ErrProgram, s.Name, s.Server.Binary(), err)
		}
	}
	return nil
}

// tryOut starts the store's server in a directory that is removed afterwards, and stops it.
func (u *underTest) tryOut(ctx context.Context, program server.Program, where string,
	patience time.Duration) (err error) {
	place, err := owned.NewDirectory(where, "try")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, place.Remove()) }()
	if err := os.Chmod(place.Path, 0o755); err != nil { // the server may run as another user
		return err
	}
	if _, err := u.start(ctx, program, server.Request{Directory: place.Path, Log: io.Discard,
		Patience: patience}); err != nil {
		return err
	}
	return u.stop(serverPatience)
}
