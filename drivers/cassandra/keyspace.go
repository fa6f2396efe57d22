package cassandra

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/cassandra-gocql-driver/v2"

	"assay/store"
)

// mark is the comment of the table by which a keyspace is known as Assay's: it writes to no other,
// and drops no other.
const mark = "made by Assay"

const (
	recordsTable = "records"
	// sessionsTable has a row for each open store. That of a store that was killed ends by itself.
	sessionsTable  = "assay_sessions"
	sessionSeconds = 24 * 60 * 60
)

var keyspaceName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,47}$`)

// strategyPrefix stands before the names of Cassandra's own classes of replication.
const strategyPrefix = "org.apache.cassandra.locator."

// openKeyspace makes the keyspace where it is not there, and enters this store. Statements that
// change a schema go to one node: several would have to agree.
func (d *db) openKeyspace(ctx context.Context, drop bool) error {
	there, replicas, err := d.lookAtKeyspace(ctx)
	if err != nil {
		return err
	}
	d.heldTold = true
	if there {
		used, empty, err := d.use(ctx)
		switch {
		case err != nil:
			return err
		case drop && used:
			return fmt.Errorf("cassandra: flush_at_open: another Assay uses keyspace %s: %w", d.keyspace, store.ErrRefused)
		case drop, replicas != d.replication && empty && !used:
			if err := d.run(ctx, "drop the keyspace", "DROP KEYSPACE "+d.keyspace); err != nil {
				return err
			}
			there = false
		case replicas != d.replication:
			return fmt.Errorf("cassandra: keyspace %s has %d replicas of each record, expected %d: flush_at_open drops it, and option keyspace names another: %w",
				d.keyspace, replicas, d.replication, store.ErrRefused)
		}
		d.heldTold = empty
	}
	if !there {
		if err := d.makeKeyspace(ctx); err != nil {
			return err
		}
	}
	d.session = gocql.TimeUUID().String()
	return d.run(ctx, "enter the keyspace", "INSERT INTO "+d.table(sessionsTable)+" (id) VALUES (?)", d.session)
}

func (d *db) table(name string) string { return d.keyspace + "." + name }

// lookAtKeyspace refuses a keyspace that Assay did not make.
func (d *db) lookAtKeyspace(ctx context.Context) (there bool, replicas int, err error) {
	nodes, err := d.nodes(ctx)
	if err == nil && nodes < d.replication {
		err = fmt.Errorf("cassandra: replication is %d, and the cluster has %d nodes: %w", d.replication, nodes, store.ErrRefused)
	}
	if err != nil {
		return false, 0, err
	}
	var durable bool
	var replication map[string]string
	err = d.control.Query("SELECT durable_writes, replication FROM system_schema.keyspaces WHERE keyspace_name = ?",
		d.keyspace).ScanContext(ctx, &durable, &replication)
	if errors.Is(err, gocql.ErrNotFound) {
		return false, 0, nil
	}
	if err != nil {
		return false, 0, failure("look at the keyspace", err)
	}
	var comment string
	err = d.control.Query("SELECT comment FROM system_schema.tables WHERE keyspace_name = ? AND table_name = ?",
		d.keyspace, recordsTable).ScanContext(ctx, &comment)
	if err != nil && !errors.Is(err, gocql.ErrNotFound) {
		return false, 0, failure("look at the table", err)
	}
	if comment != mark || !durable {
		return false, 0, fmt.Errorf("cassandra: keyspace %s is there, and Assay did not make it: option keyspace names another: %w",
			d.keyspace, store.ErrRefused)
	}
	strategy := strings.TrimPrefix(replication["class"], strategyPrefix)
	delete(replication, "class")
	if centres := slices.Sorted(maps.Keys(replication)); len(centres) == 1 {
		replicas, err = strconv.Atoi(replication[centres[0]])
		if err == nil && replicas > nodes { // fewer than a quorum of them may be there
			return false, 0, fmt.Errorf("cassandra: keyspace %s has %d replicas of each record, and the cluster %d nodes, so that it can't be looked into: "+
				"drop it, or name another by option keyspace: %w", d.keyspace, replicas, nodes, store.ErrRefused)
		}
		if err == nil {
			return true, replicas, nil
		}
	}
	return false, 0, fmt.Errorf("cassandra: keyspace %s is replicated by %s in %d data centres, expected one: %w",
		d.keyspace, strategy, len(replication), store.ErrRefused)
}

// nodes returns how many nodes the first endpoint knows of, itself among them.
func (d *db) nodes(ctx context.Context) (int, error) {
	var own string
	if err := d.control.Query("SELECT data_center FROM system.local").ScanContext(ctx, &own); err != nil {
		return 0, failure("look at the node", err)
	}
	rows := d.control.Query("SELECT data_center FROM system.peers_v2").IterContext(ctx)
	nodes, other := 1, ""
	for centre := ""; rows.Scan(&centre); nodes++ {
		if centre != own {
			other = centre
		}
	}
	if err := rows.Close(); err != nil {
		return 0, failure("look at the nodes", err)
	}
	if other != "" {
		return 0, fmt.Errorf("cassandra: the cluster has nodes in data centres %s and %s, expected one: %w", own, other, store.ErrRefused)
	}
	return nodes, nil
}

// use says if other stores have the keyspace open, and if it holds no record.
func (d *db) use(ctx context.Context) (used, empty bool, err error) {
	sessions := 0
	if err := d.control.Query("SELECT count(*) FROM "+d.table(sessionsTable)).ScanContext(ctx, &sessions); err != nil {
		return false, false, failure("look for other stores", err)
	}
	var key []byte
	err = d.control.Query("SELECT k FROM "+d.table(recordsTable)+" LIMIT 1").ScanContext(ctx, &key)
	var tombstones *gocql.RequestErrReadFailure // there were too many: what is behind them is not known
	switch {
	case err == nil, errors.As(err, &tombstones):
		return sessions > 0, false, nil
	case errors.Is(err, gocql.ErrNotFound):
		return sessions > 0, true, nil
	}
	return false, false, failure("look for records", err)
}

// makeKeyspace makes the marked table first. Dropped tables leave no snapshot on the nodes' disks.
func (d *db) makeKeyspace(ctx context.Context) error {
	for _, statement := range []string{
		fmt.Sprintf("CREATE KEYSPACE IF NOT EXISTS %s WITH replication = {'class': 'NetworkTopologyStrategy', 'replication_factor': %d}", d.keyspace, d.replication),
		fmt.Sprintf("CREATE TABLE IF NOT EXISTS %s (k blob PRIMARY KEY, v blob) WITH comment = '%s' AND allow_auto_snapshot = false", d.table(recordsTable), mark),
		fmt.Sprintf("CREATE TABLE IF NOT EXISTS %s (id text PRIMARY KEY) WITH default_time_to_live = %d AND allow_auto_snapshot = false", d.table(sessionsTable), sessionSeconds),
	} {
		if err := d.run(ctx, "make the keyspace", statement); err != nil {
			return err
		}
	}
	return nil
}

func (d *db) run(ctx context.Context, doing, statement string, values ...any) error {
	return failure(doing, d.control.Query(statement, values...).ExecContext(ctx))
}

// answering returns a session with a node that answers: a node that was down may not be connected yet.
func (d *db) answering(ctx context.Context) *gocql.Session {
	for _, m := range d.members {
		one, cancel := context.WithTimeout(ctx, statsPatience)
		_, err := m.tell(one)
		cancel()
		if err == nil {
			return m.session
		}
	}
	return d.control
}

// leave drops the keyspace if no other store has it open, no record is left in it, and nothing of
// anybody's but Assay's. A trial's keys are deleted when it ends, so that the last one leaves
// nothing.
func (d *db) leave() error {
	ctx, cancel := context.WithTimeout(context.Background(), controlTimeoutMin)
	defer cancel()
	d.control = d.answering(ctx)
	if err := d.run(ctx, "leave the keyspace", "DELETE FROM "+d.table(sessionsTable)+" WHERE id = ?", d.session); err != nil {
		return err
	}
	used, empty, err := d.use(ctx)
	if err != nil || used || !empty {
		return err
	}
	rows := d.control.Query("SELECT table_name FROM system_schema.tables WHERE keyspace_name = ?",
		d.keyspace).IterContext(ctx)
	others := false
	for table := ""; rows.Scan(&table); {
		others = others || table != recordsTable && table != sessionsTable
	}
	if err := rows.Close(); err != nil || others {
		return failure("look at the tables", err)
	}
	return d.run(ctx, "drop the keyspace", "DROP KEYSPACE "+d.keyspace)
}
