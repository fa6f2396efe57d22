package riak

import (
	"cmp"
	"errors"
	"runtime/debug"
	"time"

	client "github.com/basho/riak-go-client"

	"assay/drivers/internal/wire"
	"assay/store"
)

const libraryModule = "github.com/basho/riak-go-client"

// libraryVersion is the one in the program's build info; the library does not report its own.
func libraryVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			if module.Path == libraryModule {
				return cmp.Or(module.Version, "(unknown)")
			}
		}
	}
	return "(unknown)"
}

// libraryHandle is a cluster of the library's that knows one node, with one connection: a handle
// means the same on both paths, and which nodes handles connect to is the driver's choice on both.
type libraryHandle struct {
	cluster  *client.Cluster
	bucket   string
	quorums  quorums
	deleted  bool // ask for the vector clock of a tombstone
	resolver *resolver
	last     lastGet
}

func newLibraryHandle(d *db, endpoint string) (store.Handle, error) {
	node, err := client.NewNode(&client.NodeOptions{RemoteAddress: endpoint, MinConnections: 1,
		MaxConnections: 1, ConnectTimeout: d.timeout, RequestTimeout: d.timeout})
	if err != nil {
		return nil, told("connect", err)
	}
	cluster, err := client.NewCluster(&client.ClusterOptions{Nodes: []*client.Node{node},
		ExecutionAttempts: 1})
	if err != nil {
		return nil, told("connect", err)
	}
	if err := cluster.Start(); err != nil {
		return nil, told("connect", err)
	}
	// Start keeps to itself that a node can't be reached.
	if err := cluster.Execute(&client.PingCommand{}); err != nil {
		return nil, errors.Join(told("connect", err), cluster.Stop())
	}
	return &libraryHandle{cluster: cluster, bucket: d.bucket, quorums: d.quorums,
		deleted: d.properties["allow_mult"] == "true", resolver: &d.resolver}, nil
}

func (h *libraryHandle) Close() error { return h.cluster.Stop() }

// execute does a command, as it was built.
func (h *libraryHandle) execute(doing string, command client.Command, err error) error {
	if err == nil {
		err = h.cluster.Execute(command)
	}
	return told(doing, err)
}

// told unwraps the library's errors: that of the one attempt stands inside of one that tells of all.
func told(doing string, err error) error {
	if err == nil {
		return nil
	}
	var whole client.ClientError
	if errors.As(err, &whole) && whole.InnerError != nil {
		err = whole.InnerError
	}
	var theirs client.RiakError
	if errors.As(err, &theirs) {
		return answered([]byte(theirs.Errmsg))
	}
	return wire.Failure(name, doing, err)
}

func (h *libraryHandle) Get(key, _ []byte) ([]byte, error) {
	h.last.take(nil)
	if err := check(key, nil); err != nil {
		return nil, err
	}
	b := client.NewFetchValueCommandBuilder().WithBucket(h.bucket).WithKey(string(key)).
		WithReturnDeletedVClock(h.deleted)
	if h.quorums.r != quorumDefault {
		b = b.WithR(uint32(h.quorums.r))
	}
	if h.quorums.pr != quorumDefault {
		b = b.WithPr(uint32(h.quorums.pr))
	}
	command, err := b.Build()
	if err := h.execute("get", command, err); err != nil {
		return nil, err
	}
	response := command.(*client.FetchValueCommand).Response
	if response.IsNotFound {
		return nil, store.ErrNotFound
	}
	h.last.keep(key, response.VClock)
	var chosen sibling
	for i, o := range response.Values {
		s := sibling{value: o.Value, written: written(o.LastModified), deleted: o.IsTombstone}
		if i == 0 || s.written > chosen.written {
			chosen = s
		}
	}
	return h.resolver.value(chosen, len(response.Values))
}

// written returns the time that the server sent: the library has its microseconds as nanoseconds.
func written(t time.Time) uint64 { return uint64(t.Unix())*1e6 + uint64(t.Nanosecond()) }

func (h *libraryHandle) Put(key, value []byte) error {
	vclock := h.last.take(key)
	if err := check(key, value); err != nil {
		return err
	}
	if value == nil {
		value = []byte{} // a nil value is left out of the message, where it is required
	}
	b := client.NewStoreValueCommandBuilder().WithBucket(h.bucket).WithKey(string(key)).
		WithContent(&client.Object{Value: value, ContentType: contentType})
	if vclock != nil {
		b = b.WithVClock(vclock)
	}
	if h.quorums.w != quorumDefault {
		b = b.WithW(uint32(h.quorums.w))
	}
	if h.quorums.dw != quorumDefault {
		b = b.WithDw(uint32(h.quorums.dw))
	}
	if h.quorums.pw != quorumDefault {
		b = b.WithPw(uint32(h.quorums.pw))
	}
	command, err := b.Build()
	return h.execute("put", command, err)
}

func (h *libraryHandle) Delete(key []byte) error {
	h.last.take(nil)
	if err := check(key, nil); err != nil {
		return err
	}
	b := client.NewDeleteValueCommandBuilder().WithBucket(h.bucket).WithKey(string(key))
	for _, one := range []struct {
		q    quorum
		with func(uint32) *client.DeleteValueCommandBuilder
	}{{h.quorums.r, b.WithR}, {h.quorums.pr, b.WithPr}, {h.quorums.w, b.WithW}, {h.quorums.dw, b.WithDw},
		{h.quorums.pw, b.WithPw}} {
		if one.q != quorumDefault {
			b = one.with(uint32(one.q))
		}
	}
	command, err := b.Build()
	return h.execute("delete", command, err)
}
