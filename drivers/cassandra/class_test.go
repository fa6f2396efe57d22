package cassandra

import (
	"strings"
	"testing"
	"time"

	"assay/store"
)

// A node that reports other settings after the phase, be it one of three, does not keep the class.
func TestNodeEvidence(t *testing.T) {
	t.Parallel()
	batch := map[string]string{"commitlog_sync": "batch", "commit_failure_policy": "stop"}
	for name, c := range map[string]struct {
		told map[string]string // by the last of three nodes
		says string
	}{
		"as it was":           {batch, ""},
		"no sync before":      {map[string]string{"commitlog_sync": "periodic", "commitlog_sync_period": "10000ms"}, "commitlog_sync=periodic"},
		"what fails is ended": {map[string]string{"commitlog_sync": "batch", "commit_failure_policy": "ignore"}, "commit_failure_policy=ignore"},
		"an unknown mode":     {map[string]string{"commitlog_sync": "never"}, `commitlog_sync="never"`},
	} {
		d := &db{class: store.D3, window: time.Minute, replication: 3, write: levelAll,
			members: []*member{{settings: batch}, {settings: batch}, {settings: c.told}}}
		evidence, err := store.Evidence(d.prove(d.class, d.window))
		if err != nil || (evidence.Broken == "") != (c.says == "") || !strings.Contains(evidence.Broken, c.says) {
			t.Errorf("%s: %+v, %v, expected %q", name, evidence, err, c.says)
		}
	}
}
