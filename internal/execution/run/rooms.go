package run

import (
	"errors"
	"fmt"
	"slices"

	"assay/internal/evidence/host"
	"assay/internal/experiment"
)

// roomControllers are what limits what a fault of the machine takes away.
var roomControllers = map[string]string{experiment.FaultMemory: host.RoomMemory, experiment.FaultCPU: host.RoomCPU,
	experiment.FaultSlowDisk: host.RoomDisk}

// controllersOf are those by which a node is limited in some phase.
func controllersOf(phases []experiment.Phase, node int) (controllers []string) {
	for _, does := range experiment.Limited(phases, node) {
		controllers = append(controllers, roomControllers[does])
	}
	return controllers
}

// roomLimits are what a fault of the machine sets; disk is the number of the data directory's.
func roomLimits(f experiment.Fault, disk string) host.RoomLimits {
	l := host.RoomLimits{CPUs: f.CPUs, MemoryBytes: f.MemoryBytes}
	if f.Disk != nil {
		l.Disk, l.ReadIOPS, l.WriteIOPS = disk, f.Disk.ReadIOPS, f.Disk.WriteIOPS
		l.ReadBytes, l.WriteBytes = f.Disk.ReadBytes, f.Disk.WriteBytes
	}
	return l
}

// checkRooms refuses an experiment whose phases limit servers in a way that can't be had here.
func checkRooms(e *experiment.Experiment, o Options) error {
	started := func(s experiment.Store) bool { return s.Server != nil }
	if err := checkSlowDisks(e, o); err != nil {
		return err
	}
	for _, p := range e.Phases {
		for _, f := range p.Faults {
			if f.Disk != nil && !f.Disk.Limits() {
				continue
			}
			if !experiment.ByMachine(f.Does) || !slices.ContainsFunc(e.Stores, started) {
				continue
			}
			what := fmt.Sprintf("the phase %s limits the %s of a server", p.Name, f.Does)
			if slices.ContainsFunc(e.Cells, func(c experiment.Cell) bool { return c.MemoryLimit > 0 }) {
				return fmt.Errorf("%s, which can't be in an experiment with a memory_limit", what)
			}
			disk := ""
			if f.Disk != nil {
				directory, err := existing(o.DataRoot, o.Directory)
				if err == nil {
					disk, err = host.DiskNumber(directory)
				}
				if err != nil {
					return fmt.Errorf("%s: %w", what, err)
				}
			}
			if err := host.CheckRoom(roomLimits(f, disk), roomControllers[f.Does]); err != nil {
				return fmt.Errorf("%s, which can't be done here: %w", what, err)
			}
		}
	}
	return nil
}

// makeRooms puts servers that a phase limits into cgroups whose limits can be changed. What they allocated
// before they answered counts outside of these.
func (u *underTest) makeRooms(phases []experiment.Phase, data string) error {
	if u.own == nil {
		return nil
	}
	u.rooms = map[int]*host.Room{}
	for n, i := range u.own.Members {
		controllers := controllersOf(phases, n+1)
		if len(controllers) == 0 {
			continue
		}
		room, err := host.NewRoom(i.PID(), controllers...)
		if err != nil {
			return ownFault{err}
		}
		u.rooms[n+1] = room
		if slices.Contains(controllers, host.RoomDisk) {
			if u.disk, err = host.DiskNumber(data); err != nil {
				return ownFault{err}
			}
		}
		if err := u.enterRoom(n + 1); err != nil {
			return ownFault{err}
		}
	}
	return nil
}

// enterRoom puts the processes of a node into its room, if it has one.
func (u *underTest) enterRoom(node int) error {
	room := u.rooms[node]
	if room == nil {
		return nil
	}
	for seen := 0; ; { // one of them may start another one meanwhile
		pids := u.own.Members[node-1].Processes()
		if err := room.Enter(pids...); err != nil {
			return err
		}
		if len(pids) == seen {
			return nil
		}
		seen = len(pids)
	}
}

// removeRooms takes the rooms away, after the servers' end.
func (u *underTest) removeRooms() (failed []error) {
	for _, room := range u.rooms {
		if err := room.Remove(); err != nil {
			failed = append(failed, err)
		}
	}
	u.rooms = nil
	return failed
}

// limit does a fault of the machine.
func (u *underTest) limit(f experiment.Fault) error {
	if f.AnswersLate() {
		if err := u.slow[f.Node].SetLatency(f.Disk.Latency); err != nil || !f.Disk.Limits() {
			return err
		}
	}
	room := u.rooms[f.Node]
	if err := u.enterRoom(f.Node); err != nil { // a process that a server has put into the background
		return err
	}
	return room.Limit(roomLimits(f, u.disk))
}

// lift undoes it.
func (u *underTest) lift(node int) (err error) {
	if disk := u.slow[node]; disk != nil {
		err = disk.SetLatency(0)
	}
	if room := u.rooms[node]; room != nil {
		err = errors.Join(err, room.Lift())
	}
	return err
}
