// Package nats drives the key-value store of NATS JetStream with NATS's own Go client.
//
//	nats.go      the driver: options, limits, opening
//	bucket.go    the bucket: made, recognised, dropped
//	class.go     which durability class a server gives, as it tells its settings
//	handle.go    the operations
//	monitor.go   what the server tells of itself
//	server.go    the server, for trials that start one
//	embedded.go  the server as a part of Assay's own executable
package nats

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"assay/drivers/internal/wire"
	"assay/internal/base/bounded"
	"assay/store"
)

// Driver connects to a server.
type Driver struct{}

const (
	// keyPattern is of a subject's tokens, which dots part: what the client lets through (kv.go, keyValid).
	keyPattern = `[-/_=a-zA-Z0-9]+(\.[-/_=a-zA-Z0-9]+)*`

	// keyBytesMax leaves half of the server's max_control_line, 4096, to the subjects' other parts:
	// a read has the bucket's name twice in it, and the subject of the answer behind it.
	keyBytesMax = 2048
	// valueBytesMax leaves 1 KiB of the server's max_payload, 1 MiB, to the header of a conditional
	// write.
	valueBytesMax = 1<<20 - 1<<10
)

// expiry is that of messages: the server counts whole seconds, and looks for what is over by a timer.
var expiry = &store.Expiry{UnitNS: int64(time.Second), LateNS: int64(2 * time.Second)}

// Describe says what JetStream's key-value store can do.
func (Driver) Describe() store.Description {
	return store.Description{
		Name: "nats",
		Summary: "NATS JetStream key-value bucket (a stream that keeps the last message of each " +
			"subject), over TCP",
		Library: "github.com/nats-io/nats.go",
		Licence: "Apache-2.0",
		Kind:    store.Server,
		Durability: []store.DurabilityClaim{
			{Class: store.D0, How: "a bucket with memory storage: it ends with the server's process"},
			{Class: store.D1, How: "a bucket with file storage, and the server's sync_interval is a " +
				"time (2m by default): write(2) before the reply, fsync(2) once in that time; " +
				"a power cut loses up to sync_interval of acknowledged writes"},
			{Class: store.D3, How: "a bucket with file storage, and the server's sync_interval is " +
				"always: write(2) and fsync(2) of the message block before the reply"},
		},
		ServerSetsClass: true,
		Options: []store.Option{
			{Name: "bucket", Type: store.String, Default: "assay",
				Help: "the bucket's name, to which _memory or _file is added; made if it is not " +
					"there, and deleted when a trial has left it empty. A bucket that Assay did not make " +
					"is refused"},
			{Name: "flush_at_open", Type: store.Bool, Default: "false",
				Help: "delete the bucket at the first opening of each trial, if Assay made it, and " +
					"make it anew: what earlier trials left in it goes, delete markers too"},
			{Name: "monitoring", Type: store.String, Default: "",
				Help: "HOST:PORT of the server's HTTP monitoring; unset: the server is asked over " +
					"NATS, for which its system account must export $SYS.REQ.SERVER.PING.VARZ"},
			{Name: "credentials_file", Type: store.String, Default: "",
				Help: "file with the user's JWT and key (.creds)"},
			{Name: "password_file", Type: store.String, Default: "",
				Help: "file whose first line is USER:PASSWORD, in place of it"},
			{Name: "tls", Type: store.Choice, Default: "auto",
				Choices: []string{"auto", "verify", "off"}, Help: "verify: TLS, with the server's certificate verified; auto: off on " +
					"loopback, verify elsewhere"},
			{Name: "operation_timeout", Type: store.Duration, Default: "5s",
				Help: "deadline of one operation, the library's own for JetStream"},
		},
		HandlesShareable: true,
		KeyText:          true,
		KeyPattern:       keyPattern,
		KeyBytesMin:      1,
		KeyBytesMax:      keyBytesMax,
		ValueBytesMax:    valueBytesMax,
		ConnectionsOwn:   1,
		Expiry:           expiry,
		Abilities:        store.Probe((*db)(nil), (*handle)(nil)),
		Note: "keys are of letters, digits and - _ . / =, with no . at either end: the client " +
			"refuses others; a delete writes a marker, which stays in the bucket and is a message of it; " +
			"compare-and-swap is a read, a comparison in the client, and a write on the condition of " +
			"the revision: two round trips, and a conflict too if the same value was written in " +
			"between; " +
			"add asks up to twice more where the key was deleted; a write is sent again by the " +
			"client, up to twice, if no part of the server took it; " +
			"an operation that is under way when the connection breaks ends as a timeout; the " +
			"connection is made again after 2 s, the library's default, and operations fail until then",
	}
}

// openPatience is enough to delete a large bucket.
const openPatience = time.Minute

// Open connects, holds the server to the class, and makes the bucket.
func (Driver) Open(ctx context.Context, c store.Config) (store.Store, error) {
	if len(c.Endpoints) != 1 {
		return nil, fmt.Errorf("nats: expected one endpoint, got %d: %w", len(c.Endpoints),
			store.ErrRefused)
	}
	if _, claimed := (Driver{}).Describe().Claim(c.Durability); !claimed {
		return nil, fmt.Errorf("nats can't reach %s: %w", c.Durability, store.ErrRefused)
	}
	d := &db{
		endpoint: c.Endpoints[0], timeout: c.Options.Duration("operation_timeout"), class: c.Durability,
		monitoring: c.Options.String("monitoring"), bucket: bucketName(c.Options.String("bucket"),
			c.Durability),
	}
	if d.timeout <= 0 {
		return nil, fmt.Errorf("nats: operation_timeout is %v, expected more than 0: %w", d.timeout,
			store.ErrRefused)
	}
	if err := d.configure(c.Options); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, openPatience)
	defer cancel()
	var err error
	if d.control, err = d.connect(); err != nil {
		return nil, err
	}
	if err := d.open(ctx, c.First && c.Options.Bool("flush_at_open")); err != nil {
		d.control.Close()
		return nil, fmt.Errorf("open nats at %s: %w", d.endpoint, err)
	}
	return d, nil
}

// db has a connection of its own for what is no operation.
type db struct {
	endpoint   string
	monitoring string
	bucket     string
	timeout    time.Duration
	class      store.Durability
	options    []nats.Option

	control    *nats.Conn
	stream     jetstream.Stream
	server     varz
	told       bool // what server holds
	held       uint64
	presence   *nats.Subscription
	reconnects atomic.Uint64

	allowing sync.Once
	allowed  error // why the bucket takes no TTL
}

// configure makes the client's options. Beyond what the experiment says, it connects to no server
// but the one that is named, and keeps nothing to send later: what it would send after a reconnect
// may have timed out.
func (d *db) configure(o store.Options) error {
	host, _, err := net.SplitHostPort(d.endpoint)
	if err != nil {
		return fmt.Errorf("nats: expected an endpoint HOST:PORT: %w: %w", err, store.ErrRefused)
	}
	d.options = []nats.Option{
		nats.Name("assay"), nats.Timeout(d.timeout), nats.MaxReconnects(-1), nats.ReconnectBufSize(-1),
		nats.IgnoreDiscoveredServers(),
		nats.ReconnectHandler(func(*nats.Conn) { d.reconnects.Add(1) }),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}),
		// its own writes to standard error
	}
	if wire.Encrypts(o.Choice("tls"), host) {
		d.options = append(d.options, nats.Secure(&tls.Config{ServerName: host,
			MinVersion: tls.VersionTLS12}))
	}
	if file := o.String("credentials_file"); file != "" {
		text, err := bounded.ReadFile(file, credentialsMax) // the library would read to the end, however far away it is
		if err != nil {
			return fmt.Errorf("nats: credentials_file: %w: %w", err, store.ErrRefused)
		}
		d.options = append(d.options, nats.UserCredentialBytes(text))
	}
	if file := o.String("password_file"); file != "" {
		line, err := bounded.Line(file)
		if err != nil {
			return fmt.Errorf("nats: password_file: %w: %w", err, store.ErrRefused)
		}
		user, password, ok := strings.Cut(line, ":")
		if !ok || o.String("credentials_file") != "" {
			return fmt.Errorf("nats: password_file: expected USER:PASSWORD, and no credentials_file: %w", store.ErrRefused)
		}
		d.options = append(d.options, nats.UserInfo(user, password))
	}
	return nil
}

const credentialsMax = 64 << 10

func (d *db) connect() (*nats.Conn, error) {
	c, err := nats.Connect("nats://"+d.endpoint, d.options...)
	return c, failure("connect", err)
}

func (d *db) open(ctx context.Context, flush bool) error {
	var err error
	if d.server, err = d.askServer(ctx); err == nil {
		d.told = true
	}
	if why := d.refuseClass(err); why != nil {
		return why
	}
	if limit := d.control.MaxPayload(); limit < 1<<20 {
		return fmt.Errorf("its max_payload is %d, expected 1048576 or more: %w", limit, store.ErrRefused)
	}
	return d.openBucket(ctx, flush)
}

// Held counts the bucket's messages: delete markers are among them.
func (d *db) Held() (records uint64, known bool) { return d.held, true }

// Handle opens one more connection.
func (d *db) Handle() (store.Handle, error) {
	connection, err := d.connect()
	if err != nil {
		return nil, err
	}
	h := &handle{connection: connection, timeout: d.timeout, onDisk: d.class != store.D0, allowTTL: d.allowTTL}
	ctx, cancel := h.begin()
	defer cancel()
	js, err := jetstream.New(connection)
	if err == nil {
		h.bucket, err = js.KeyValue(ctx, d.bucket)
		h.stream = js
	}
	if err != nil {
		connection.Close()
		return nil, failure("open the bucket", err)
	}
	return h, nil
}

// Close deletes the bucket where it is empty and no other store uses it. After a restart of the
// server the store's own connection may not be there again yet.
func (d *db) Close() error {
	defer d.control.Close()
	for end := time.Now().Add(d.timeout); !d.control.IsConnected() && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	if !d.control.IsConnected() { // it would be waited for
		return fmt.Errorf("nats: close: %w: bucket %s is left as it is", nats.ErrDisconnected, d.bucket)
	}
	ctx, cancel := context.WithTimeout(context.Background(), openPatience)
	defer cancel()
	return d.leaveBucket(ctx)
}

// failure says what failed, as a timeout where it is one.
func failure(doing string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrTimeout):
		return fmt.Errorf("nats: %s: %w", doing, store.ErrTimeout)
	}
	return wire.Failure("nats", doing, err)
}
