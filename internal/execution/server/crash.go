package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"assay/internal/base/bounded"
)

// Crash kills a server with all of its processes, as a power button would end them: they are stopped
// first, so that none writes down what it knows, or sees another one die. halted is called when
// nothing of the server runs any more and nothing is killed yet; it may be nil. The server can be
// started again by Restart, or is ended by Stop.
func (i *Instance) Crash(halted func()) error {
	i.life.down.Store(true)
	if err := i.crash(halted); err != nil {
		return fmt.Errorf("killing %s: %w", i.label, err)
	}
	return nil
}

func (i *Instance) crash(halted func()) error {
	processes, err := i.Halt()
	if err != nil {
		return err
	}
	if halted != nil {
		halted()
	}
	slices.Reverse(processes)
	for _, pid := range processes {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended by itself
	}
	if !i.endsWithin(killPatience) {
		return fmt.Errorf("process %d does not end", i.PID())
	}
	for _, pid := range processes {
		for runs(pid, "Z") {
			time.Sleep(time.Millisecond)
		}
	}
	return nil
}

// Halt stops all processes, the first one before those that it has started, and returns them once
// none of their threads runs.
func (i *Instance) Halt() (processes []int, err error) {
	// One that has just ended by itself runs no more than one that is stopped.
	if err := syscall.Kill(i.PID(), syscall.SIGSTOP); err != nil && !errors.Is(err, syscall.ESRCH) {
		return nil, err
	}
	processes = i.Processes()
	for left := processes; len(left) > 0; { // a signal takes its time, and a process may have begun another one
		for _, pid := range left {
			_ = syscall.Kill(pid, syscall.SIGSTOP) // it may have ended by itself
		}
		time.Sleep(time.Millisecond)
		processes = i.Processes()
		left = slices.DeleteFunc(slices.Clone(processes), func(pid int) bool { return !runs(pid, "TZ") })
	}
	return processes, nil
}

// runs says if one of a process' threads is in none of some states, which are letters of proc(5).
func runs(pid int, states string) bool {
	names, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/stat") // fails for a bad pattern only
	return slices.ContainsFunc(names, func(name string) bool {
		stat, err := bounded.Kernel(name)
		_, state, found := strings.Cut(string(stat[bytes.LastIndexByte(stat, ')')+1:]), " ") // after the name in parentheses
		return err == nil && found && !strings.Contains(states, state[:1])
	})
}

// Rejoin runs a crashed server again, and returns when all of the group answer: in a cluster, the others
// learn that it is back.
func (g *Group) Rejoin(ctx context.Context, n int, patience time.Duration) error {
	if err := g.Members[n].Restart(ctx, patience); err != nil {
		return err
	}
	return g.each(func(i *Instance) error { return i.waitReady(ctx, patience) })
}

// Lose crashes a server, and returns when the others answer without it.
func (g *Group) Lose(ctx context.Context, n int, patience time.Duration) error {
	if err := g.Members[n].Crash(nil); err != nil {
		return err
	}
	return g.each(func(i *Instance) error {
		if i == g.Members[n] {
			return nil
		}
		return i.waitReady(ctx, patience)
	})
}

// Cut crashes all servers of the group, and runs them again. halted is called while none runs, before
// the first is killed.
func (g *Group) Cut(ctx context.Context, halted func(), patience time.Duration) error {
	for _, i := range g.Members[1:] {
		if _, err := i.Halt(); err != nil {
			return err
		}
	}
	for n, i := range g.Members {
		if n > 0 {
			halted = nil
		}
		if err := i.Crash(halted); err != nil {
			return err
		}
	}
	return g.Restart(ctx, patience)
}
