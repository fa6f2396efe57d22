package proof

import (
	"fmt"

	"assay/internal/base/mounts"
	"assay/internal/evidence/host"
)

// Running is where a store runs that is open.
type Running struct {
	PIDs      []int    // of its workers and servers
	Command   []string // of its worker
	Directory string   // its files stand below it; "": it has none here
}

// See completes a question with what runs and where its files stand. An error says what is not known: no
// proof answers the question then.
func (q *Question) See(r Running, digests *host.Digests) (err error) {
	if r.Directory != "" {
		m, err := mounts.Of(r.Directory)
		if err != nil {
			return fmt.Errorf("find the file system of the store: %w", err)
		}
		q.FileSystem, q.MountOptions = m.FileSystem, mounts.Decisive(m.Options)
	}
	q.Program, err = digests.Loaded(r.PIDs, r.Command)
	return err
}
