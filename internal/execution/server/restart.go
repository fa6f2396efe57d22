package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"assay/store"
)

// Restart runs a server that has ended on the files that it left, in the same directory, at the same
// port, asked for the same settings, and returns when it answers. A server that crashed is Assay's
// still, and is run as an operator would; others may ask meanwhile whether it died. One that was ended
// is started as at first, and is not left running where that fails.
func (i *Instance) Restart(ctx context.Context, patience time.Duration) error {
	if _, err := os.Stat(i.Directory); err != nil { // nothing is left of it: that is its end, and no fault of ours
		return fmt.Errorf("%w: %s: its directory is gone", ErrDied, i.label)
	}
	i.output = &output{log: i.output.log, name: i.label} // the last one's may still end a line
	restart := i.runCrashed
	if i.note == nil {
		restart = i.relaunch
	}
	if err := restart(ctx, patience); err != nil {
		return fmt.Errorf("starting %s again: %w", i.label, err)
	}
	return nil
}

func (i *Instance) runCrashed(ctx context.Context, patience time.Duration) error {
	if err := i.run(); err != nil {
		return err
	}
	i.life.down.Store(false)
	return i.waitReady(ctx, patience)
}

func (i *Instance) relaunch(ctx context.Context, patience time.Duration) error {
	i.life = new(life)
	var prepare func(context.Context, *Instance) error
	if i.moved {
		prepare, i.moved = i.Program.Move, false
	}
	return i.launch(ctx, patience, prepare)
}

// Restart restarts all servers at once, since a cluster's members wait for each other. None is left
// where it fails.
func (g *Group) Restart(ctx context.Context, patience time.Duration) error {
	err := g.each(func(i *Instance) error { return i.Restart(ctx, patience) })
	if err != nil {
		return errors.Join(err, g.Abort())
	}
	return nil
}

// Remains is what is to be known of a server to start it again in another process, and elsewhere.
type Remains struct {
	Directory string        `json:"directory"` // its name in that of the store
	Version   string        `json:"version"`
	Host      string        `json:"host"`
	Port      int           `json:"port"`
	PeerPort  int           `json:"peer_port,omitempty"`
	Options   store.Options `json:"options"`
	Asked     map[string]string
	Guard     Guard // of its files, only the names
}

// Remains returns what is to be known of the group's servers.
func (g *Group) Remains() (all []Remains) {
	for _, i := range g.Members {
		guard := i.Guard
		for _, path := range guard.files() {
			if *path != "" {
				*path = filepath.Base(*path)
			}
		}
		all = append(all, Remains{filepath.Base(i.Directory), i.Version, i.Host, i.Port, i.PeerPort, i.Options,
			i.Asked, guard})
	}
	return all
}

// Left returns servers of which a directory has the files, ready for [Group.Restart].
func Left(p Program, directory string, log io.Writer, remains []Remains) (*Group, error) {
	binary, err := p.Find()
	if err != nil {
		return nil, err
	}
	user, err := p.userFor(binary, []string{directory})
	if err != nil {
		return nil, err
	}
	if p.MayBeRoot && user != nil && len(remains) > 0 { // it was root, where its files are
		info, err := os.Stat(filepath.Join(directory, remains[0].Directory))
		if err != nil {
			return nil, err
		}
		if info.Sys().(*syscall.Stat_t).Uid != user.Uid {
			user = nil
		}
	}
	g := new(Group)
	for _, r := range remains {
		i := &Instance{Program: &p, Binary: binary, Version: r.Version, Directory: filepath.Join(directory,
			r.Directory), Host: r.Host, Port: r.Port,
			PeerPort: r.PeerPort, Peers: slices.Clone(g.Members), Count: len(remains), Options: r.Options,
			Guard: r.Guard, label: p.Driver, user: user, life: new(life)}
		i.output = &output{log: log, name: i.label}
		for _, path := range i.Guard.files() {
			if *path != "" {
				*path = filepath.Join(directory, remains[0].Directory, *path)
			}
		}
		i.Asked = map[string]string{}
		maps.Copy(i.Asked, r.Asked)
		maps.Copy(i.Asked, p.Asked(i)) // what names the directory
		i.moved = true
		g.Members = append(g.Members, i)
	}
	return g, nil
}

// Running reports whether servers run that were not ended.
func (g *Group) Running() bool {
	return slices.ContainsFunc(g.Members, func(i *Instance) bool { return i.note != nil })
}

// Kill ends all servers by SIGKILL: what a crash does.
func (g *Group) Kill() error {
	return g.each(func(i *Instance) error { return i.endBy(syscall.SIGKILL, killPatience) })
}

// Abort ends all servers at once, by the signal after which they leave nothing outside of their
// directories.
func (g *Group) Abort() error {
	return g.each(func(i *Instance) error {
		return i.endBy(cmp.Or(i.Program.DeathSignal, syscall.SIGKILL), killPatience)
	})
}

// Close ends all servers in order, so that they write what they hold to their files.
func (g *Group) Close(patience time.Duration) error {
	return g.each(func(i *Instance) error { return i.endBy(syscall.SIGTERM, patience) })
}
