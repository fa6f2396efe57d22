// Package etcd drives an etcd server with its own Go client, over gRPC.
package etcd

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/client/v3"

	"assay/drivers/internal/wire"
	"assay/internal/base/bounded"
	"assay/store"
)

// Driver connects to a server.
type Driver struct{}

const (
	// batchMax is the server's --max-txn-ops, batchBytesMax its --max-request-bytes: 1.5 MiB.
	batchMax      = 128
	batchBytesMax = 3 << 19
	// valueBytesMax leaves half a MiB of the server's --max-request-bytes, 1.5 MiB, to the key and
	// the request.
	valueBytesMax = 1 << 20
	// pageMax is how many records a scan asks for at once.
	pageMax = 1000

	entryOne = "one"
	entryAll = "all"
)

// expiry is that of leases (lease/lessor.go): the server looks for those that are over every 500 ms,
// ends at most 1,000 a second, each by an entry of the raft log, and grants none below the time of one
// and a half elections, which is 2 s by default.
var expiry = &store.Expiry{UnitNS: int64(time.Second), LeastNS: int64(2 * time.Second), LateNS: int64(2 * time.Second)}

// Describe says what etcd can do.
func (Driver) Describe() store.Description {
	return store.Description{
		Name:    "etcd",
		Summary: "replicated key-value server (raft, B+tree), gRPC over TCP",
		Library: "go.etcd.io/etcd/client/v3",
		Licence: "Apache-2.0",
		Kind:    store.Server,
		Durability: []store.DurabilityClaim{
			{Class: store.D3, How: "fdatasync(2) of the raft log (Save in wal/wal.go) before the reply, on a majority of the members; its metrics show that it does"},
		},
		Options: append([]store.Option{
			{Name: "entry", Type: store.Choice, Default: entryAll, Choices: []string{entryOne, entryAll},
				Help: "which members handles connect to. one: the first; all: each in turn. " +
					"Every member has every key, and hands writes to the leader"},
			{Name: "operation_timeout", Type: store.Duration, Default: "5s", Help: "deadline of one operation (the client has none of its own)"},
			{Name: "flush_at_open", Type: store.Bool, Default: "false",
				Help: "delete all keys at the first opening of each trial: DELETES EVERYTHING ON THE SERVER, whoever stored it. Without it, keys begin with the trial's name, and no other key is touched"},
		}, wire.AccessOptions()...),
		HandlesShareable: true,
		KeyBytesMin:      1,
		ValueBytesMax:    valueBytesMax,
		BatchAtomic:      true,
		BatchMax:         batchMax,
		MultiGetMax:      batchMax,
		BatchBytesMax:    batchBytesMax,
		ConnectionsOwn:   2, // one of gRPC, one for the server's metrics
		Abilities:        store.Probe((*db)(nil), (*handle)(nil)),
		Expiry:           expiry,
		Note: "a value with a TTL is two requests, a lease of its own and the put; reads are linearizable, the client's default: each asks a majority; a batch is one transaction, in which etcd takes a key once, so that of two writes of a key the last is sent; " +
			"one request has at most 1.5 MiB, a batch too; every write keeps the value before it until a compaction, and at the server's quota (2 GiB by default) writes are refused",
	}
}

// Open connects, and learns whether the server syncs.
func (Driver) Open(ctx context.Context, c store.Config) (store.Store, error) {
	if c.Durability != store.D3 {
		return nil, fmt.Errorf("etcd can't reach %s: it syncs before each reply, which is D3: %w", c.Durability, store.ErrRefused)
	}
	if len(c.Endpoints) == 0 {
		return nil, fmt.Errorf("etcd: expected an endpoint of each member: %w", store.ErrRefused)
	}
	d := &db{timeout: c.Options.Duration("operation_timeout"), entry: c.Options.Choice("entry")}
	if d.timeout <= 0 {
		return nil, fmt.Errorf("etcd: operation_timeout is %v, expected more than 0: %w", d.timeout, store.ErrRefused)
	}
	access, err := wire.ReadAccess("etcd", c.Options)
	if err != nil {
		return nil, err
	}
	d.access = access
	// the default one may keep a second
	d.http.Transport = &http.Transport{MaxConnsPerHost: 1, TLSClientConfig: access.TLS()}
	ctx, cancel := context.WithTimeout(ctx, openPatience)
	defer cancel()
	if err := d.reach(ctx, c.Endpoints); err != nil {
		d.http.CloseIdleConnections()
		return nil, err
	}
	client, err := d.connect(d.endpoints[0])
	if err != nil {
		d.http.CloseIdleConnections()
		return nil, failure("connect", err)
	}
	d.client = client
	if err := d.open(ctx, c.First && c.Options.Bool("flush_at_open")); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// openPatience is enough to delete many keys.
const openPatience = time.Minute

// connect opens a client that tries nothing twice. One that logs in does so here.
func (d *db) connect(endpoint string) (*clientv3.Client, error) {
	user, password, _ := d.access.Login()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{urlOf(d.access, endpoint)},
		DialTimeout: d.timeout, MaxUnaryRetries: 1,
		TLS: d.access.TLS(), Username: user, Password: password})
	return client, d.access.Hide(err)
}

// urlOf is where a client's port answers: gRPC, and HTTP beside it.
func urlOf(access wire.Access, endpoint string) string {
	if access.TLS() != nil {
		return "https://" + endpoint
	}
	return "http://" + endpoint
}

// db has a client of its own for what is no operation.
type db struct {
	endpoints []string // of the members that answered when it was opened
	handles   atomic.Uint64
	entry     string
	timeout   time.Duration
	access    wire.Access
	client    *clientv3.Client
	http      http.Client // for the first one's metrics
	version   string
	held      uint64
}

func (d *db) open(ctx context.Context, flush bool) error {
	status, err := d.client.Status(ctx, urlOf(d.access, d.endpoints[0]))
	if err != nil {
		return failure("status", err)
	}
	d.version = status.Version
	all, err := d.client.Get(ctx, "", clientv3.WithFromKey(), clientv3.WithCountOnly())
	if err != nil {
		return failure("count keys", err)
	}
	d.held = uint64(all.Count)
	if !flush {
		return nil
	}
	_, err = d.client.Delete(ctx, "", clientv3.WithFromKey())
	return failure("delete all keys", err)
}

// walSyncs counts the syncs of the log that a reply waits for.
const walSyncs = "etcd_disk_wal_fsync_duration_seconds_count"

// reach finds the members that answer: a cluster works while most do. It refuses a member that runs
// with --unsafe-no-fsync and never synced. Such a member may still have synced a log that is new;
// [db.TellDurability] finds it.
func (d *db) reach(ctx context.Context, endpoints []string) error {
	var silent error
	for _, endpoint := range endpoints {
		metrics, err := metricsOf(ctx, &d.http, urlOf(d.access, endpoint))
		if err != nil {
			silent = errors.Join(silent, err)
			continue
		}
		if metrics[walSyncs] <= 0 {
			return fmt.Errorf("etcd at %s can't reach D3: its metrics show no sync of its log; without --unsafe-no-fsync it would: %w", endpoint, store.ErrRefused)
		}
		d.endpoints = append(d.endpoints, endpoint)
	}
	if len(d.endpoints) > 1 {
		d.http.CloseIdleConnections() // those to the others
	}
	if len(d.endpoints) == 0 {
		return silent
	}
	return nil
}

// metricsOf reads the numbers without labels of a server's /metrics.
func metricsOf(ctx context.Context, client *http.Client, url string) (map[string]float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/metrics", nil)
	if err != nil {
		return nil, fmt.Errorf("etcd: metrics: %w", err)
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, failure("metrics", errors.Unwrap(err))
	}
	text, err := bounded.Read(response.Body, 16<<20)
	if err = errors.Join(err, response.Body.Close()); err != nil {
		return nil, fmt.Errorf("etcd: metrics: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("etcd: metrics: %s", response.Status)
	}
	metrics := map[string]float64{}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if number, err := strconv.ParseFloat(value, 64); err == nil {
			metrics[name] = number
		}
	}
	return metrics, nil
}

// Held is how many keys there were.
func (d *db) Held() (records uint64, known bool) { return d.held, true }

// Handle opens one more client, which is one connection: to each member in turn, or to the first.
func (d *db) Handle() (store.Handle, error) {
	var at uint64
	if d.entry == entryAll {
		at = (d.handles.Add(1) - 1) % uint64(len(d.endpoints))
	}
	client, err := d.connect(d.endpoints[at])
	if err != nil {
		return nil, failure("connect", err)
	}
	return &handle{client: client, timeout: d.timeout}, nil
}

// Settings are what the server reports, which is little.
func (d *db) Settings() map[string]string {
	settings := map[string]string{
		"version": d.version, "driver.operation_timeout": d.timeout.String(), "driver.entry": d.entry,
	}
	ctx, cancel := context.WithTimeout(context.Background(), d.timeout)
	defer cancel()
	// what it does not report is left out
	if metrics, err := metricsOf(ctx, &d.http, urlOf(d.access, d.endpoints[0])); err == nil {
		settings["quota-backend-bytes"] = strconv.FormatFloat(metrics["etcd_server_quota_backend_bytes"], 'f', -1, 64)
	}
	d.access.Tell(settings)
	return settings
}

func (d *db) Close() error {
	d.http.CloseIdleConnections()
	return d.client.Close()
}

// counters are what Inspect returns, by the names of /metrics.
var counters = map[string]string{
	"etcd_debugging_mvcc_keys_total":          "records",
	"etcd_mvcc_db_total_size_in_bytes":        "file_bytes",
	"etcd_mvcc_db_total_size_in_use_in_bytes": "used_bytes",
	walSyncs: "wal_syncs",
	"etcd_disk_wal_fsync_duration_seconds_sum":            "wal_sync_s",
	"etcd_disk_backend_commit_duration_seconds_count":     "commits",
	"etcd_disk_backend_commit_duration_seconds_sum":       "commit_s",
	"etcd_network_client_grpc_received_bytes_total":       "received_bytes",
	"etcd_network_client_grpc_sent_bytes_total":           "sent_bytes",
	"etcd_server_proposals_committed_total":               "proposals_committed",
	"etcd_server_proposals_failed_total":                  "proposals_failed",
	"etcd_server_proposals_pending":                       "proposals_pending",
	"etcd_server_leader_changes_seen_total":               "leader_changes",
	"etcd_server_slow_apply_total":                        "slow_applies",
	"etcd_server_slow_read_indexes_total":                 "slow_reads",
	"etcd_debugging_mvcc_db_compaction_keys_total":        "compacted_keys",
	"process_open_fds":                                    "open_files",
	"process_resident_memory_bytes":                       "resident_bytes",
	"process_cpu_seconds_total":                           "cpu_s",
	"etcd_debugging_snap_save_total_duration_seconds_sum": "snapshot_s",
}

// TellDurability counts the syncs of the log, for the settings are not told.
func (d *db) TellDurability() (store.DurabilityEvidence, error) {
	ctx, cancel := context.WithTimeout(context.Background(), d.timeout)
	defer cancel()
	metrics, err := metricsOf(ctx, &d.http, urlOf(d.access, d.endpoints[0]))
	if err != nil {
		return store.DurabilityEvidence{}, err
	}
	return store.DurabilityEvidence{}.Counted(metrics[walSyncs], walSyncs, 0), nil
}

// Inspect takes numbers of /metrics.
func (d *db) Inspect() store.Inspection {
	ctx, cancel := context.WithTimeout(context.Background(), d.timeout)
	defer cancel()
	metrics, err := metricsOf(ctx, &d.http, urlOf(d.access, d.endpoints[0]))
	if err != nil {
		return store.Inspection{}
	}
	stats := map[string]float64{}
	for theirs, ours := range counters {
		if value, told := metrics[theirs]; told {
			stats[ours] = value
		}
	}
	if quota, told := metrics["etcd_server_quota_backend_bytes"]; told {
		stats[store.RoomStat] = max(quota-metrics["etcd_mvcc_db_total_size_in_bytes"], 0)
	}
	return store.Inspection{Stats: stats, Left: d.alarms(ctx)}
}

// alarms are those that are raised; nil: none is, or it can't be asked. An alarm stays when what led to
// it is gone.
func (d *db) alarms(ctx context.Context) (left []store.Left) {
	raised, err := d.client.AlarmList(ctx)
	if err != nil {
		return nil
	}
	for _, a := range raised.Alarms {
		state := store.Left{State: fmt.Sprintf("the alarm %s is raised", a.Alarm)}
		if a.Alarm == etcdserverpb.AlarmType_NOSPACE && len(left) == 0 {
			ctl, revision := "etcdctl --endpoints="+d.endpoints[0], "REVISION"
			if status, err := d.client.Status(ctx, urlOf(d.access, d.endpoints[0])); err == nil {
				revision = strconv.FormatInt(status.Header.Revision, 10)
			}
			state.State = "its database reached its quota (alarm NOSPACE): it refuses everybody's writes"
			state.Undo = []string{ctl + " compact " + revision, ctl + " defrag", ctl + " alarm disarm"}
		}
		left = append(left, state)
	}
	return left
}

func failure(doing string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("etcd: %s: %w", doing, store.ErrTimeout)
	}
	return wire.Failure("etcd", doing, err)
}
