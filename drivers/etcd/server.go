package etcd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"assay/internal/base/bounded"
	"assay/internal/execution/server"
	"assay/store"
)

// peerSocket is where the other members of a cluster of one would be talked to: a Unix socket in the
// server's directory.
const peerSocket = "unix://peer:1"

// Program is the etcd server: a cluster of one, or of several members.
var Program = server.Program{
	Driver:    "etcd",
	Binaries:  []string{"etcd"},
	Tells:     regexp.MustCompile(`^etcd Version:`),
	Packages:  []string{"etcd-server"},
	Builds:    server.Recipe{Make: "make build", Programs: []string{"bin/etcd"}},
	Several:   server.Cluster,
	PeerPort:  true,
	Majority:  true,
	NotAsRoot: []string{"etcd", "nobody"},
	MayBeRoot: true,
	Options: append([]store.Option{
		{Name: "quota_bytes", Type: store.Bytes, Default: "2GiB", Help: "size of the database at which writes are refused (--quota-backend-bytes)"},
		{Name: "snapshot_count", Type: store.Int, Default: "100000", Help: "writes between two snapshots of the raft log (--snapshot-count)"},
	}, server.LoginOption(false)),
	Open: "a login adds work to each request, which would be measured; others can read and write what it holds, and change " +
		"its cluster",
	Credentials: func(g server.Guard) (option, text string) { return "credentials_file", superuser + ":" + g.Password },
	Class: func(class store.Durability) (options map[string]string, reached bool) {
		return nil, class == store.D3
	},
	Asked: func(i *server.Instance) map[string]string {
		return map[string]string{"quota-backend-bytes": fmt.Sprint(i.Options.Bytes("quota_bytes"))}
	},
	Prepare: addMember,
	Command: func(i *server.Instance) (arguments, environment []string) {
		state, cluster := "new", []string{}
		for _, member := range append(slices.Clone(i.Peers), i) {
			cluster = append(cluster, nameOf(member)+"="+peerURL(member))
		}
		if len(i.Peers) > 0 {
			state = "existing"
		}
		return []string{
			"--name", nameOf(i), "--data-dir", i.Directory + "/data",
			"--listen-client-urls", "http://" + i.Endpoint(), "--advertise-client-urls", "http://" + i.Endpoint(),
			"--listen-peer-urls", peerURL(i), "--initial-advertise-peer-urls", peerURL(i),
			"--initial-cluster", strings.Join(cluster, ","), "--initial-cluster-state", state, "--strict-reconfig-check=false",
			"--quota-backend-bytes", i.Asked["quota-backend-bytes"], "--snapshot-count", i.Options["snapshot_count"],
			"--bcrypt-cost", "4", // a password that is made for one start can't be guessed, and each connection hashes it
		}, nil
	},
	Ready: func(ctx context.Context, i *server.Instance) error {
		metrics, err := metricsOf(ctx, &once, "http://"+i.Endpoint())
		if err == nil && metrics["etcd_server_has_leader"] != 1 {
			return fmt.Errorf("it has no leader yet")
		}
		if err == nil && i.Guard.Credentials != "" {
			err = demandLogin(ctx, i)
		}
		if err != nil || i.Count == 1 {
			return err
		}
		return readsFrom(ctx, i)
	},
	Settings: func(ctx context.Context, i *server.Instance) (map[string]string, error) {
		metrics, err := metricsOf(ctx, &once, "http://"+i.Endpoint())
		if err != nil {
			return nil, err
		}
		return map[string]string{"quota-backend-bytes": strconv.FormatFloat(metrics["etcd_server_quota_backend_bytes"], 'f', -1, 64)}, nil
	},
}

// superuser is the only user that etcd demands: it can do all that a client can without a login.
const superuser = "root"

// demandLogin lets the cluster demand a login, once.
func demandLogin(ctx context.Context, i *server.Instance) error {
	if _, err := token(ctx, i); err == nil { // by a member before it, or at its start before this one
		return nil
	}
	for _, step := range []struct{ path, body string }{
		{"auth/role/add", `{"name": "root"}`},
		{"auth/user/add", fmt.Sprintf(`{"name": %q, "password": %q}`, superuser, i.Guard.Password)},
		{"auth/user/grant", fmt.Sprintf(`{"user": %q, "role": "root"}`, superuser)},
		{"auth/enable", "{}"},
	} {
		if err := post(ctx, i, step.path, step.body, nil); err != nil && !strings.Contains(err.Error(), "already exists") {
			return err
		}
	}
	return nil
}

// token logs in, and returns what later requests show; "" where no login is demanded.
func token(ctx context.Context, i *server.Instance) (string, error) {
	var got struct {
		Token string `json:"token"`
	}
	if i.Guard.Credentials == "" {
		return "", nil
	}
	err := post(ctx, i, "auth/authenticate", fmt.Sprintf(`{"name": %q, "password": %q}`, superuser, i.Guard.Password), &got)
	return got.Token, err
}

// nameOf is a member's name in its cluster.
func nameOf(i *server.Instance) string {
	if i.Count > 1 {
		return "assay-" + strconv.Itoa(len(i.Peers)+1)
	}
	return "assay"
}

// peerURL is where the other members talk to a member.
func peerURL(i *server.Instance) string {
	if i.Count > 1 {
		return "http://" + net.JoinHostPort(i.Host, strconv.Itoa(i.PeerPort))
	}
	return peerSocket
}

// readsFrom reads as clients do, which asks a majority: a member may take one that is gone for its leader.
func readsFrom(ctx context.Context, i *server.Instance) error {
	return post(ctx, i, "kv/range", `{"key": "AA==", "range_end": "AA==", "count_only": true}`, nil)
}

// addMember tells the cluster of a member that is about to join it. The first one is a cluster alone.
func addMember(ctx context.Context, i *server.Instance) error {
	if len(i.Peers) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, addPatience)
	defer cancel()
	return post(ctx, i.Peers[0], "cluster/member/add", fmt.Sprintf(`{"peerURLs": [%q]}`, peerURL(i)), nil)
}

// addPatience is for a cluster that may be electing its leader.
const addPatience = 30 * time.Second

// post makes one request of etcd's JSON gateway, by a login of its own where one is demanded. The Go client
// would write its own log. into is what to read the answer into; nil: it is of no use.
func post(ctx context.Context, i *server.Instance, path, body string, into any) (err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+i.Endpoint()+"/v3/"+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	if !strings.HasPrefix(path, "auth/") {
		shown, err := token(ctx, i)
		if err != nil {
			return err
		}
		if shown != "" {
			request.Header.Set("Authorization", shown)
		}
	}
	response, err := once.Do(request)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	const answerMax = 4 << 10
	text, err := bounded.Read(response.Body, answerMax)
	switch {
	case response.StatusCode != http.StatusOK:
		return errors.Join(err, fmt.Errorf("%s: %s: %s", path, response.Status, text))
	case err != nil || into == nil:
		return err
	}
	return json.Unmarshal(text, into)
}

// once keeps no connection.
var once = http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
