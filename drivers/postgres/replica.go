package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"assay/drivers/internal/sqlkv"
	"assay/store"
)

// Where reads go: choices of the option read_from.
const (
	fromPrimary = "primary"
	fromReplica = "replica"
)

// reader writes at the primary by the handle that it embeds, and reads at a standby. What a write has to
// read first is the primary's.
type reader struct {
	*sqlkv.Handle
	standby *sqlkv.Handle
}

func (r *reader) Get(key, buf []byte) ([]byte, error) { return r.standby.Get(key, buf) }

func (r *reader) MultiGet(keys, values [][]byte, buf []byte) (calls int, err error) {
	return r.standby.MultiGet(keys, values, buf)
}

func (r *reader) Scan(start []byte, limit int, visit func(key, value []byte) bool) error {
	return r.standby.Scan(start, limit, visit)
}

func (r *reader) Query(asked int, values [][]byte, visit func(key, record []byte) bool) error {
	return r.standby.Query(asked, values, visit)
}

func (r *reader) Count(asked int, values [][]byte) (records uint64, err error) {
	return r.standby.Count(asked, values)
}

func (r *reader) Explain(asked int, values [][]byte, counts bool) (store.Plan, error) {
	return r.standby.Explain(asked, values, counts)
}

func (r *reader) Close() error { return errors.Join(r.Handle.Close(), r.standby.Close()) }

// openReader opens a handle at the primary, and one at a standby: handles take the standbys in turn.
func (d *db) openReader() (store.Handle, error) {
	at := d.replicas[int(d.readers.Add(1)-1)%len(d.replicas)]
	primary, err := d.handleAt(d.config)
	if err != nil {
		return nil, err
	}
	standby, err := d.handleAt(at)
	if err != nil {
		return nil, errors.Join(err, primary.Close())
	}
	return &reader{primary, standby}, nil
}

// meetReplicas holds the servers behind the first to what standbys of it are.
func (d *db) meetReplicas(ctx context.Context, c store.Config) error {
	d.reads = c.Options.Choice("read_from") == fromReplica
	if d.reads && len(d.replicas) == 0 {
		return fmt.Errorf("read_from: replica, and only the primary is named: expected its standbys' endpoints behind it: %w",
			store.ErrRefused)
	}
	return d.awaitReplicas(ctx)
}

// replicaPatience is how long a standby may take to have what the primary has: a table that was made.
const replicaPatience = time.Minute

// awaitReplicas waits until each standby has replayed what the primary's log has now. A standby is a copy,
// whose identifier is the primary's.
func (d *db) awaitReplicas(ctx context.Context) error {
	if len(d.replicas) == 0 {
		return nil
	}
	row, err := d.rows("SELECT pg_logical_emit_message(false, 'assay', 'here'), system_identifier FROM pg_control_system()")
	if err != nil {
		return err
	}
	position, identifier := row[0][0], row[0][1] // of the message's end, which a standby that replays it reaches
	for i, config := range d.replicas {
		if err := awaitReplica(ctx, config, position, identifier); err != nil {
			return fmt.Errorf("the standby %d of %d: %w", i+1, len(d.replicas), err)
		}
	}
	return nil
}

func awaitReplica(ctx context.Context, config *pgx.ConnConfig, position, identifier string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, replicaPatience)
	defer cancel()
	c, err := pgconn.ConnectConfig(ctx, config.Config.Copy())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close(context.WithoutCancel(ctx))) }()
	ask := func(text string) (string, error) {
		results, err := c.Exec(ctx, text).ReadAll()
		if err != nil {
			return "", told(err)
		}
		return string(results[0].Rows[0][0]), nil
	}
	if in, err := ask("SELECT pg_is_in_recovery()"); err != nil || in != "t" {
		return errors.Join(err, fmt.Errorf("the server is no standby: %w", store.ErrRefused))
	}
	if its, err := ask("SELECT system_identifier FROM pg_control_system()"); err != nil || its != identifier {
		return errors.Join(err, fmt.Errorf("the server is the standby of another primary: %w", store.ErrRefused))
	}
	for {
		there, err := ask("SELECT coalesce(pg_last_wal_replay_lsn() >= " + literal(position) + ", false)")
		if err != nil {
			return fmt.Errorf("waiting until it has replayed the log up to %s: %w", position, err)
		}
		if there == "t" {
			return nil
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("it has not replayed the log up to %s: %w", position, ctx.Err())
		}
	}
}
