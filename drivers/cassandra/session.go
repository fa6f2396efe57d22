package cassandra

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apache/cassandra-gocql-driver/v2"

	"assay/drivers/internal/wire"
	"assay/store"
)

// controlTimeoutMin bounds statements of the store's own: making a table takes seconds on a busy
// node.
const controlTimeoutMin = time.Minute

// reconnectEvery is how often a session tries to connect to a node that was down, once each time.
const reconnectEvery = time.Second

// dialer connects as [wire.Access] does, and counts what is connected after the session was opened.
type dialer struct {
	access     wire.Access
	timeout    time.Duration
	opened     atomic.Bool
	reconnects *atomic.Uint64 // nil: they are not counted
}

func (d *dialer) DialContext(ctx context.Context, _, endpoint string) (net.Conn, error) {
	c, err := d.access.Dial(ctx, endpoint, d.timeout)
	if err == nil && d.reconnects != nil && d.opened.Load() {
		d.reconnects.Add(1)
	}
	return c, err
}

// connect opens a session: one connection to each node, nothing tried twice, and no query of the
// client's own between the operations. change is nil, or changes what the session is opened with.
//
// The client reads from the cluster which nodes there are, and the filter leaves the endpoints. If
// it read nothing (DisableInitialHostLookup), it would know each endpoint by an id of its own
// making. After a loss of all connections it reads the real ids anyway, takes the node for
// another one, and drops the endpoint by its address, the node with it: "no hosts available in the
// pool" until the session is closed.
func connect(by *dialer, endpoints []string, change func(*gocql.ClusterConfig)) (*gocql.Session, error) {
	c := gocql.NewCluster(endpoints...)
	only, err := onlyOf(endpoints)
	if err != nil {
		return nil, err
	}
	c.HostFilter = only
	c.NumConns = 1
	c.Timeout, c.ConnectTimeout, c.WriteTimeout = by.timeout, by.timeout, by.timeout
	c.Dialer = by
	c.RetryPolicy = nil
	c.ReconnectInterval = reconnectEvery
	c.ReconnectionPolicy = &gocql.ConstantReconnectionPolicy{MaxRetries: 1}
	c.Metadata.CacheMode = gocql.Disabled
	c.Events.DisableNodeStatusEvents = true
	c.Events.DisableTopologyEvents = true
	c.Events.DisableSchemaEvents = true
	if user, password, given := by.access.Login(); given {
		c.Authenticator = gocql.PasswordAuthenticator{Username: user, Password: password}
	}
	if change != nil {
		change(c)
	}
	session, err := c.CreateSession()
	if err != nil {
		return nil, err
	}
	if strange := only.strange(); strange != "" {
		session.Close()
		return nil, fmt.Errorf("no node of the cluster has the address of %s (rpc_address): %w", strange, store.ErrRefused)
	}
	by.opened.Store(true)
	return session, nil
}

// endpointsOnly is a [gocql.HostFilter] of the nodes that an experiment names.
type endpointsOnly struct {
	endpointOf map[string]string // by IP address

	mu  sync.Mutex
	met map[string]bool // endpoints
}

func onlyOf(endpoints []string) (*endpointsOnly, error) {
	f := &endpointsOnly{endpointOf: map[string]string{}, met: map[string]bool{}}
	for _, endpoint := range endpoints {
		host, _, err := net.SplitHostPort(endpoint)
		if err != nil {
			return nil, err
		}
		addresses, err := net.LookupHost(host)
		if err != nil {
			return nil, err
		}
		for _, address := range addresses {
			f.endpointOf[net.ParseIP(address).String()] = endpoint
		}
		f.met[endpoint] = false
	}
	return f, nil
}

// Accept makes endpointsOnly a [gocql.HostFilter].
func (f *endpointsOnly) Accept(h *gocql.HostInfo) bool {
	endpoint, named := f.endpointOf[h.ConnectAddress().String()]
	if named {
		f.mu.Lock()
		f.met[endpoint] = true
		f.mu.Unlock()
	}
	return named
}

// strange returns an endpoint that the cluster has not named as one of its nodes; "": there is none.
func (f *endpointsOnly) strange() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, endpoint := range slices.Sorted(maps.Keys(f.met)) {
		if !f.met[endpoint] {
			return endpoint
		}
	}
	return ""
}

// failure says what failed. Where the nodes did not answer in time, to the client or to each other,
// the outcome is unknown.
func failure(doing string, err error) error {
	var (
		write     *gocql.RequestErrWriteTimeout
		read      *gocql.RequestErrReadTimeout
		undecided *gocql.RequestErrCASWriteUnknown
	)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, gocql.ErrTimeoutNoResponse), errors.Is(err, context.DeadlineExceeded),
		errors.As(err, &write), errors.As(err, &read), errors.As(err, &undecided):
		return fmt.Errorf("cassandra: %s: %w", doing, store.ErrTimeout)
	}
	return wire.Failure("cassandra", doing, err)
}
