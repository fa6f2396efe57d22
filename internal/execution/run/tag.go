package run

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"

	"assay/internal/experiment"
	"assay/internal/experiment/keyval"
)

// name gives the trial its tag, which stands in the check of all its values, and its name in the
// keys of servers. The tag is drawn anew each time a trial is run: a repeated run, or a trial that
// is run again, has the same seed, and would otherwise take what the one before it left in a server
// for its own.
func (t *trial) name() error {
	var word [4]byte
	for t.tag == 0 {
		if _, err := rand.Read(word[:]); err != nil {
			return fmt.Errorf("drawing the trial's tag: %w", err)
		}
		t.tag = binary.LittleEndian.Uint32(word[:])
	}
	t.result.Tag = t.tag
	if t.run.experiment.KeyNamespace {
		t.result.Namespace = fmt.Sprintf("%08x", t.tag)
	}
	return nil
}

// keys returns what the trial's keys look like.
func (t *trial) keys() keyval.KeyShape {
	shape := t.run.experiment.Keys
	if t.run.experiment.KeyNamespace {
		shape.Prefix = t.result.Namespace + shape.Prefix[len(experiment.KeyPlaceholder):]
	}
	return shape
}
