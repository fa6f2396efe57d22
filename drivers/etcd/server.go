package etcd

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"assay/internal/execution/server"
	"assay/store"
)

// peerSocket is where other members would be talked to: a Unix socket in the server's directory,
// for there are none.
const peerSocket = "unix://peer:1"

// Program is the etcd server, as a cluster of one.
var Program = server.Program{
	Driver:   "etcd",
	Binaries: []string{"etcd"},
	Packages: []string{"etcd-server"},
	Options: []store.Option{
		{Name: "quota_bytes", Type: store.Bytes, Default: "2GiB", Help: "size of the database at which writes are refused (--quota-backend-bytes)"},
		{Name: "snapshot_count", Type: store.Int, Default: "100000", Help: "writes between two snapshots of the raft log (--snapshot-count)"},
	},
	Class: func(class store.Durability) (options map[string]string, reached bool) { return nil, class == store.D3 },
	Asked: func(i *server.Instance) map[string]string {
		return map[string]string{"quota-backend-bytes": fmt.Sprint(i.Options.Bytes("quota_bytes"))}
	},
	Command: func(i *server.Instance) (arguments, environment []string) {
		return []string{
			"--name", "assay", "--data-dir", i.Directory + "/data",
			"--listen-client-urls", "http://" + i.Endpoint(), "--advertise-client-urls", "http://" + i.Endpoint(),
			"--listen-peer-urls", peerSocket, "--initial-advertise-peer-urls", peerSocket, "--initial-cluster", "assay=" + peerSocket,
			"--quota-backend-bytes", i.Asked["quota-backend-bytes"], "--snapshot-count", i.Options["snapshot_count"],
		}, nil
	},
	Ready: func(ctx context.Context, i *server.Instance) error {
		metrics, err := metricsOf(ctx, &once, i.Endpoint())
		if err == nil && metrics["etcd_server_has_leader"] != 1 {
			return fmt.Errorf("it has no leader yet")
		}
		return err
	},
	Settings: func(ctx context.Context, i *server.Instance) (map[string]string, error) {
		metrics, err := metricsOf(ctx, &once, i.Endpoint())
		if err != nil {
			return nil, err
		}
		return map[string]string{"quota-backend-bytes": strconv.FormatFloat(metrics["etcd_server_quota_backend_bytes"], 'f', -1, 64)}, nil
	},
}

// once keeps no connection.
var once = http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
