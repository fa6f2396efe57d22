package cassandra

import (
	"context"
	"fmt"
	"time"

	"github.com/apache/cassandra-gocql-driver/v2"

	"assay/store"
)

// The consistency levels that an experiment may choose.
const (
	levelOne         = "one"
	levelQuorum      = "quorum"
	levelLocalQuorum = "local_quorum"
	levelAll         = "all"
)

var levels = map[string]gocql.Consistency{
	levelOne: gocql.One, levelQuorum: gocql.Quorum, levelLocalQuorum: gocql.LocalQuorum, levelAll: gocql.All,
}

// acknowledgements returns how many replicas an operation waits for. There is one data centre.
func acknowledgements(level string, replicas int) int {
	switch level {
	case levelOne:
		return 1
	case levelAll:
		return replicas
	}
	return replicas/2 + 1
}

// The classes follow AbstractCommitLogService of Cassandra 5.0: in periodic mode a write waits only
// while the last sync is older than blockWhenSyncLagsNanos, and in batch and group mode until its
// own segment was synced. In periodic mode a kill of the process loses what came after the last
// marker of its log, so that it is no D1. Each of an experiment's settings has one class: synced
// before the reply is D3, however many replicas do it, and what is not is D4 where two or more have
// it, and otherwise D2.

// syncsBefore says if a node's log is synced before a write is acknowledged, or else how old the
// last sync may be.
func syncsBefore(settings map[string]string) (before bool, lossMax time.Duration, err error) {
	switch mode := settings["commitlog_sync"]; mode {
	case "batch", "group":
		return true, 0, nil
	case "periodic":
	default:
		return false, 0, fmt.Errorf("it runs with commitlog_sync=%q: expected periodic, batch or group", mode)
	}
	if lag := settings["periodic_commitlog_sync_lag_block"]; lag != "" && lag != "null" {
		lossMax, err = time.ParseDuration(lag)
		return false, lossMax, err
	}
	period, err := time.ParseDuration(settings["commitlog_sync_period"])
	return false, period + period/2, err // as DatabaseDescriptor.getPeriodicCommitLogSyncBlock has it
}

// prove holds each node to the class.
func (d *db) prove(class store.Durability, window time.Duration) error {
	acks := acknowledgements(d.write, d.replication)
	for _, m := range d.members {
		if err := m.prove(class, window, acks); err != nil {
			return fmt.Errorf("cassandra at %s can't reach %s: %w: %w", m.endpoint, class, err, store.ErrRefused)
		}
	}
	return nil
}

// TellDurability holds what the nodes report now against the class. They count no syncs.
func (d *db) TellDurability() (store.DurabilityEvidence, error) {
	ctx, cancel := context.WithTimeout(context.Background(), d.timeout)
	defer cancel()
	for _, m := range d.members {
		settings, err := m.tell(ctx)
		if err != nil {
			return store.DurabilityEvidence{}, err
		}
		m.settings = settings
	}
	return store.Evidence(d.prove(d.class, d.window))
}

func (m *member) prove(class store.Durability, window time.Duration, acks int) error {
	before, lossMax, err := syncsBefore(m.settings)
	if err != nil {
		return err
	}
	is := store.D2
	switch {
	case before:
		is = store.D3
	case acks >= 2:
		is = store.D4
	}
	switch {
	case m.settings["commit_failure_policy"] == "ignore":
		return fmt.Errorf("it runs with commit_failure_policy=ignore, and acknowledges what it could not log")
	case is == class && class == store.D2 && window < lossMax:
		return fmt.Errorf("the last sync of its log may be %v old: expected D2(%v) or more", lossMax, lossMax)
	case is == class:
		return nil
	case class == store.D3:
		return fmt.Errorf("it runs with commitlog_sync=periodic: commitlog_sync: batch or group would")
	case is == store.D3:
		return fmt.Errorf("it runs with commitlog_sync=%s, which is %s: commitlog_sync: periodic would", m.settings["commitlog_sync"], is)
	case class == store.D4:
		return fmt.Errorf("a write waits for one replica: replication of 2 or more and consistency quorum would")
	}
	return fmt.Errorf("a write waits for %d replicas, which is %s: consistency one would", acks, is)
}
