package run

import (
	"errors"
	"fmt"
	"slices"

	"assay/internal/base/owned"
	"assay/internal/evidence/host"
	"assay/internal/evidence/record"
	"assay/internal/execution/child"
	"assay/internal/execution/powercut"
)

// Cleaned is what a cleaning did.
type Cleaned struct {
	Removed []string // sentences
	Failed  []error  // what is left as it is
}

// CleanLeft removes what killed runs of this user have left, each by its note: processes, file
// systems, cgroups, data directories, temporary files. It touches nothing whose owner lives.
func CleanLeft() (c Cleaned) {
	if ended := child.EndLeft(); len(ended) > 0 {
		c.Removed = append(c.Removed, fmt.Sprintf("processes of workers and servers: %d", len(ended)))
	}
	left := owned.Left()
	slices.SortStableFunc(left, func(a, b *owned.Note) int { return cleanOrder[a.Kind] - cleanOrder[b.Kind] })
	for _, note := range left {
		if err := clean(note.Thing); err != nil {
			c.Failed = append(c.Failed, fmt.Errorf("cleaning %s %s, which a killed run left: %w", note.Kind, note.Path, err))
			note.Keep()
			continue
		}
		c.Removed = append(c.Removed, note.Kind+" "+note.Path)
		note.Done()
	}
	return c
}

// cleanOrder puts what stands in something else before it.
var cleanOrder = map[string]int{owned.Server: 1, owned.Mount: 2, owned.Rig: 2, owned.Group: 3, owned.Data: 4, owned.Temporary: 5, owned.Run: 6}

func clean(t owned.Thing) error {
	switch t.Kind {
	case owned.Server:
		_, err := child.EndLeftIn(t.Path)
		return err
	case owned.Mount:
		return host.QuotaMount{By: t.By, Directory: t.Path}.Unmount()
	case owned.Rig:
		return powercut.Clean(t.Path)
	case owned.Group:
		return host.RemoveMemoryGroup(t.Path)
	case owned.Data:
		return record.CleanData(t.Path)
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

// tellLeft cleans and says so.
func (o Options) tellLeft() {
	c := CleanLeft()
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
