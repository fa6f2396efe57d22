package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"assay/internal/base/format"
	"assay/internal/base/owned"
	"assay/internal/evidence/host"
	"assay/internal/evidence/record"
	"assay/internal/execution/child"
	"assay/internal/execution/powercut"
	"assay/internal/execution/server"
)

// Cleaned is what a cleaning did.
type Cleaned struct {
	Removed   []string // sentences
	Forgotten []string // what may be left, and is not reported again
	Failed    []error  // what is left as it is

	others map[string][]string // keys of runs that are not asked for: the server's name and place → the runs' folders
}

// LeftKeys says which keys on servers that somebody else has started are removed: those need the
// consent that the run needed.
type LeftKeys struct {
	Worker []string // the command of Assay's own worker

	All         bool   // of every run
	Of          string // of the run in this directory
	AllowRemote bool   // also on servers that are not on this machine's loopback
	Forget      bool   // those that can't be removed, as their server is gone
}

// CleanLeft removes what killed runs of this user have left, each by its note: processes, file
// systems, cgroups, data directories, temporary files, keys. It touches nothing whose owner lives.
func CleanLeft(ctx context.Context, keys LeftKeys) (c Cleaned) {
	if ended := child.EndLeft(); len(ended) > 0 {
		c.Removed = append(c.Removed, fmt.Sprintf("processes of workers and servers: %d", len(ended)))
	}
	left := owned.Left()
	slices.SortStableFunc(left, func(a, b *owned.Note) int { return cleanOrder[a.Kind] - cleanOrder[b.Kind] })
	for _, note := range left {
		if note.Kind == owned.Keys {
			c.cleanKeys(ctx, note, keys)
			continue
		}
		if err := clean(note.Thing); err != nil {
			c.Failed = append(c.Failed, fmt.Errorf("cleaning %s %s, which a killed run left: %w", note.Kind, note.Path, err))
			note.Keep()
			continue
		}
		c.Removed = append(c.Removed, note.Kind+" "+note.Path)
		note.Done()
	}
	for _, server := range slices.Sorted(maps.Keys(c.others)) {
		folders := c.others[server]
		c.Failed = append(c.Failed, fmt.Errorf("%s may still hold keys of %s, one of the run in %s: assay doctor --clean removes them, and --forget too forgets them where the server is gone", server,
			format.Plural(len(folders), "earlier trial", ""), slices.Min(folders)))
	}
	return c
}

// cleanKeys deletes the keys of a note, where it may.
func (c *Cleaned) cleanKeys(ctx context.Context, note *owned.Note, which LeftKeys) {
	var k serverKeys
	if err := json.Unmarshal(note.Detail, &k); err != nil || k.Prepare == nil || k.Namespace == "" {
		c.Failed = append(c.Failed, fmt.Errorf("the note of keys that a run in %s left can't be read", note.Path))
		note.Keep()
		return
	}
	directory, _ := filepath.Abs(which.Of)
	if !which.All && (which.Of == "" || directory != note.Path) {
		if c.others == nil {
			c.others = map[string][]string{}
		}
		c.others[k.server()] = append(c.others[k.server()], note.Path)
		note.Keep()
		return
	}
	var err error
	switch remote := k.remote(); {
	case len(remote) > 0 && !which.AllowRemote:
		err = fmt.Errorf("%s: not on this machine's loopback\n--allow-remote confirms that the keys may be deleted there", format.List(remote))
	default:
		err = k.remove(ctx, which.Worker, cleanPatience)
	}
	switch {
	case err != nil && which.Forget && (len(k.remote()) == 0 || which.AllowRemote):
		c.Forgotten = append(c.Forgotten, fmt.Sprintf("%s, of the run in %s: %v", &k, note.Path, err))
		note.Done()
		return
	case err != nil:
		c.Failed = append(c.Failed, fmt.Errorf("%s, of the run in %s: %w", &k, note.Path, err))
		note.Keep()
		return
	}
	c.Removed = append(c.Removed, fmt.Sprintf("keys that begin with %s from %s", k.Namespace, k.Store))
	note.Done()
}

// cleanPatience is how long a server that holds left keys may take to open, or to answer.
const cleanPatience = time.Minute

// cleanOrder puts what stands in something else before it.
var cleanOrder = map[string]int{owned.Container: 0, owned.Server: 1, owned.Mount: 2, owned.Rig: 2, owned.Group: 3,
	owned.Data: 4, owned.Worktree: 5, owned.Temporary: 6, owned.Run: 7}

func clean(t owned.Thing) error {
	switch t.Kind {
	case owned.Server:
		_, err := child.EndLeftIn(t.Path)
		return err
	case owned.Container:
		return server.RemoveContainer(t)
	case owned.Mount:
		return host.QuotaMount{By: t.By, Directory: t.Path}.Unmount()
	case owned.Rig:
		return powercut.Clean(t.Path)
	case owned.Group:
		return host.RemoveMemoryGroup(t.Path)
	case owned.Data:
		return record.CleanData(t.Path)
	case owned.Worktree:
		return owned.RemoveWorktree(context.Background(), t)
	case owned.Temporary:
		if !owned.IsTemporary(t.Path) {
			return errors.New("it does not have the name of one")
		}
		return owned.RemoveAll(t.Path)
	case owned.Run:
		return record.CleanRun(t.Path)
	}
	return errors.New("this version of Assay does not know the kind")
}

// cleanAndReport cleans and says so.
func (o Options) cleanAndReport(ctx context.Context, keys LeftKeys) {
	keys.Worker = o.Worker
	c := CleanLeft(ctx, keys)
	if len(c.Removed) > 0 {
		more := ""
		if n := len(c.Removed) - 1; n > 0 {
			more = fmt.Sprintf(" and %d more", n)
		}
		o.View.Message("removed what killed runs left: " + c.Removed[0] + more)
	}
	for _, err := range c.Failed {
		o.View.Message(err.Error())
	}
}
