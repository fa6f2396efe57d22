package cassandra

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"assay/drivers/internal/wire"
	"assay/internal/execution/server"
	"assay/store"
)

// Program is a Cassandra node, or several that are a cluster. Its binary is a script that make
// cassandra writes beside the jars: it runs the daemon with the Java that is in PATH.
var Program = server.Program{
	Driver:      "cassandra",
	Binaries:    []string{"assay-cassandra"},
	Needs:       []string{"java", "cassandra/cassandra-all-*.jar"},
	Missing:     "make cassandra, in Assay's source tree, fetches it with Maven; Java: apt-get install --no-install-recommends maven openjdk-17-jre-headless",
	Tells:       regexp.MustCompile(`(?i)cassandra`),
	Slow:        true,
	Several:     server.Cluster,
	Roams:       true,
	PeerPort:    true,
	AnySetting:  true,
	NotAsRoot:   []string{"cassandra", "nobody"},
	MayBeRoot:   true,
	Open:        "a cluster would keep who may log in on one of its nodes, and be closed when that one is killed; others can do there what the driver can",
	Credentials: func(g server.Guard) (option, text string) { return "credentials_file", superuser + ":" + g.Password },
	StopSignal:  syscall.SIGKILL, // asked to end, it would write and tell the others, for data that is thrown away
	Options: []store.Option{
		{Name: "heap_bytes", Type: store.Bytes, Default: "512MiB", Help: "heap of each node (-Xms, -Xmx); Cassandra's own choice would be a quarter of the machine's memory, up to 8 GiB"},
		{Name: "commitlog_sync", Type: store.Choice, Default: "periodic", Choices: []string{"periodic", "batch", "group"},
			Help: "when the log is synced: periodic: in the background; batch: before each reply; group: once in commitlog_sync_group_window, before the replies. The durability class sets it"},
		{Name: "commitlog_sync_period", Type: store.Duration, Default: "10s", Help: "time between two syncs, where they are periodic"},
		{Name: "commitlog_sync_group_window", Type: store.Duration, Default: "15ms", Help: "time between two syncs, where they are of groups"},
		{Name: "write_request_timeout", Type: store.Duration, Default: "2s", Help: "how long the server waits for a write, its sync included, before it reports a timeout"},
		{Name: "batch_fail_bytes", Type: store.Bytes, Default: "50KiB", Help: "batch_size_fail_threshold: a larger batch is refused"},
		{Name: "concurrent_reads", Type: store.Int, Default: "32", Help: "threads that read"},
		{Name: "concurrent_writes", Type: store.Int, Default: "32", Help: "threads that write"},
		server.LoginOption(false),
	},
	Class: func(class store.Durability) (options map[string]string, reached bool) {
		switch class {
		case store.D2, store.D4: // which of them it is, the driver's options say
			return map[string]string{"commitlog_sync": "periodic"}, true
		case store.D3:
			return map[string]string{"commitlog_sync": "batch"}, true
		}
		return nil, false
	},
	Asked: func(i *server.Instance) map[string]string {
		asked := map[string]string{
			"cluster_name": "assay", "num_tokens": strconv.Itoa(tokensOfNode), "partitioner": "org.apache.cassandra.dht.Murmur3Partitioner",
			"listen_address": i.Host, "rpc_address": i.Host,
			"storage_port": strconv.Itoa(i.PeerPort), "native_transport_port": strconv.Itoa(i.Port),
			"commitlog_sync": i.Options["commitlog_sync"], "endpoint_snitch": "SimpleSnitch",
			"batch_size_fail_threshold": fmt.Sprint(i.Options.Bytes("batch_fail_bytes")>>10) + "KiB",
			"write_request_timeout":     fmt.Sprint(i.Options.Duration("write_request_timeout").Milliseconds()) + "ms",
			"concurrent_reads":          i.Options["concurrent_reads"], "concurrent_writes": i.Options["concurrent_writes"],
			"disk_failure_policy": "stop",  // as in the file that Cassandra comes with
			"auto_bootstrap":      "false", // there is nothing to fetch from the others
		}
		switch window := map[string]string{"periodic": "commitlog_sync_period", "group": "commitlog_sync_group_window"}[asked["commitlog_sync"]]; window {
		case "":
		default:
			asked[window] = fmt.Sprint(i.Options.Duration(window).Milliseconds()) + "ms"
		}
		if i.Guard.Credentials != "" {
			asked["authenticator"] = "org.apache.cassandra.auth.PasswordAuthenticator"
		}
		for option, directory := range directories(i) {
			asked[option] = directory
		}
		return asked
	},
	Prepare: func(_ context.Context, i *server.Instance) error {
		if i.Guard.Credentials != "" && i.Count > 1 {
			return fmt.Errorf("login: cassandra: a cluster keeps who may log in on one of its nodes: expected one node: %w", store.ErrRefused)
		}
		return errors.Join(
			os.Mkdir(filepath.Join(i.Directory, "tmp"), 0o700),
			os.WriteFile(filepath.Join(i.Directory, configurationFile), []byte(configuration(i)), 0o600),
			os.WriteFile(filepath.Join(i.Directory, logFile), []byte(logConfiguration), 0o600),
		)
	},
	Command: func(i *server.Instance) (arguments, environment []string) { return javaArguments(i), nil },
	Ready:   ready,
	Settings: func(ctx context.Context, i *server.Instance) (settings map[string]string, err error) {
		err = ask(ctx, i, func(m *member) error {
			settings, err = m.tell(ctx)
			return err
		})
		return settings, err
	},
	Same: sameSetting,
}

const (
	tokensOfNode      = 16 // as in the file that Cassandra comes with
	configurationFile = "cassandra.yaml"
	logFile           = "logback.xml"
	logConfiguration  = `<configuration>
  <appender name="STDOUT" class="ch.qos.logback.core.ConsoleAppender"><encoder><pattern>%-5level %msg%n%ex{short}</pattern></encoder></appender>
  <root level="WARN"><appender-ref ref="STDOUT"/></root>
</configuration>
`
)

// directories are where a node keeps what, by the names of its settings.
func directories(i *server.Instance) map[string]string {
	named := map[string]string{}
	for _, name := range []string{"commitlog", "saved_caches", "hints", "cdc_raw"} {
		named[name+"_directory"] = filepath.Join(i.Directory, name)
	}
	return named
}

// configuration is the node's file of settings: what it is asked for, and what it does not report in
// the same words.
func configuration(i *server.Instance) string {
	seed := i
	if len(i.Peers) > 0 {
		seed = i.Peers[0]
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(i.Asked)) {
		fmt.Fprintf(&b, "%s: %s\n", name, i.Asked[name])
	}
	fmt.Fprintf(&b, "data_file_directories: [%s]\n", filepath.Join(i.Directory, "data"))
	fmt.Fprintf(&b, "initial_token: %s\n", strings.Join(tokens(len(i.Peers), i.Count), ","))
	fmt.Fprintf(&b, "seed_provider:\n  - class_name: org.apache.cassandra.locator.SimpleSeedProvider\n    parameters: [{seeds: %q}]\n",
		net.JoinHostPort(seed.Host, strconv.Itoa(seed.PeerPort)))
	return b.String()
}

// tokens are those of one of several nodes: all of them divide the ring into equal parts, in turn.
// Random ones, Cassandra's own choice, would give each node another part of the keys in each trial.
func tokens(node, nodes int) []string {
	ring, parts := new(big.Int).Lsh(big.NewInt(1), 64), big.NewInt(int64(nodes*tokensOfNode))
	texts := make([]string, tokensOfNode)
	for n := range texts {
		at := new(big.Int).Mul(ring, big.NewInt(int64(n*nodes+node)))
		at.Div(at, parts).Add(at, big.NewInt(math.MinInt64))
		texts[n] = at.String()
	}
	return texts
}

// javaArguments are those of conf/jvm-server.options and conf/jvm17-server.options of Cassandra
// 5.0, but for what would write files elsewhere, and what keeps a cluster of one machine waiting at
// its start.
func javaArguments(i *server.Instance) []string {
	heap := fmt.Sprint(i.Options.Bytes("heap_bytes"))
	arguments := []string{
		"-Xms" + heap, "-Xmx" + heap, "-Xss256k", "-ea", "-XX:+AlwaysPreTouch", "-XX:+PerfDisableSharedMem", "-XX:+ExitOnOutOfMemoryError",
		"-XX:+UseG1GC", "-XX:+ParallelRefProcEnabled", "-XX:MaxTenuringThreshold=2", "-XX:G1HeapRegionSize=16m",
		"-XX:+UnlockExperimentalVMOptions", "-XX:G1NewSizePercent=50", "-XX:G1RSetUpdatingPauseTimePercent=5",
		"-XX:MaxGCPauseMillis=300", "-XX:InitiatingHeapOccupancyPercent=70",
		"-Djdk.attach.allowAttachSelf=true", "-Dio.netty.tryReflectionSetAccessible=true", "-Djava.net.preferIPv4Stack=true",
		"-Djava.io.tmpdir=" + filepath.Join(i.Directory, "tmp"), "-Duser.home=" + i.Directory, "-Dchronicle.analytics.disable=true",
		"-Dcassandra.config=file://" + filepath.Join(i.Directory, configurationFile), "-Dlogback.configurationFile=" + filepath.Join(i.Directory, logFile),
		"-Dcassandra.storagedir=" + i.Directory, "-Dcassandra-foreground=yes",
		"-Dcassandra.skip_wait_for_gossip_to_settle=0",
	}
	if i.Guard.Credentials != "" { // a password that is made for one start can't be guessed, and each connection hashes it
		arguments = append(arguments, "-Dcassandra.superuser_setup_delay_ms=0", "-Dcassandra.auth_bcrypt_gensalt_log2_rounds=4")
	}
	if len(i.Peers) == 0 { // no other node has to be heard of
		arguments = append(arguments, "-Dcassandra.ring_delay_ms=1000")
	}
	for _, name := range exports {
		arguments = append(arguments, "--add-exports="+name+"=ALL-UNNAMED")
	}
	for _, name := range opens {
		arguments = append(arguments, "--add-opens="+name+"=ALL-UNNAMED")
	}
	return arguments
}

var exports = []string{
	"java.base/jdk.internal.misc", "java.management.rmi/com.sun.jmx.remote.internal.rmi", "java.rmi/sun.rmi.registry",
	"java.rmi/sun.rmi.server", "java.sql/java.sql", "java.base/java.lang.ref", "jdk.unsupported/sun.misc",
}

var opens = []string{
	"java.base/java.lang.module", "java.base/jdk.internal.loader", "java.base/jdk.internal.ref", "java.base/jdk.internal.reflect",
	"java.base/jdk.internal.math", "java.base/jdk.internal.module", "java.base/jdk.internal.util.jar", "jdk.management/com.sun.management.internal",
	"java.base/sun.nio.ch", "java.base/java.io", "java.base/java.lang", "java.base/java.nio", "java.base/java.util",
	"java.base/java.util.concurrent", "java.base/java.util.concurrent.atomic", "java.base/java.net",
}

// ready asks each node of the store if it knows all of those that run. It begins with the new one,
// so that the others are left alone until that one answers.
func ready(ctx context.Context, i *server.Instance) error {
	if i.Guard.Credentials != "" {
		if err := changePassword(ctx, i); err != nil {
			return err
		}
	}
	for _, of := range append([]*server.Instance{i}, i.Peers...) {
		err := ask(ctx, of, func(m *member) error {
			rows, peers := m.session.Query("SELECT peer FROM system.peers_v2").IterContext(ctx), 0
			for peer := (net.IP)(nil); rows.Scan(&peer); peers++ {
			}
			if err := rows.Close(); err != nil {
				return err
			}
			if peers < len(i.Peers) { // one that was started again knows those that came after it too
				return fmt.Errorf("%s knows %d other nodes, expected %d", of.Endpoint(), peers, len(i.Peers))
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// superuser is who a new node knows, by its name as the password.
const superuser = "cassandra"

// changePassword gives the superuser the password of this start, once.
func changePassword(ctx context.Context, i *server.Instance) error {
	if err := ask(ctx, i, func(*member) error { return nil }); err == nil {
		return nil
	}
	known := wire.LoginAs(superuser, superuser)
	return askAs(ctx, i, known, func(m *member) error {
		return m.session.Query(fmt.Sprintf("ALTER ROLE %s WITH PASSWORD = '%s'", superuser, i.Guard.Password)).ExecContext(ctx)
	})
}

// ask talks to a node over a session of its own.
func ask(ctx context.Context, i *server.Instance, talk func(*member) error) error {
	access, err := wire.Admitted(i.Guard.DriverOptions())
	if err != nil {
		return err
	}
	return askAs(ctx, i, access, talk)
}

func askAs(ctx context.Context, i *server.Instance, access wire.Access, talk func(*member) error) error {
	patience := 10 * time.Second
	if end, bound := ctx.Deadline(); bound {
		patience = min(patience, max(time.Until(end), time.Millisecond))
	}
	session, err := connect(&dialer{access: access, timeout: patience}, []string{i.Endpoint()}, nil)
	if err != nil {
		return errors.Join(failure("connect", err), ctx.Err())
	}
	defer session.Close()
	return talk(&member{endpoint: i.Endpoint(), session: session})
}

var quantity = regexp.MustCompile(`^[0-9]+(B|KiB|MiB|GiB)$`)

// sameSetting compares times and sizes, which a node tells in the unit of its own that it likes.
func sameSetting(_, asked, told string) bool {
	if a, err := time.ParseDuration(asked); err == nil {
		b, err := time.ParseDuration(told)
		return err == nil && a == b
	}
	if quantity.MatchString(asked) && quantity.MatchString(told) {
		a, errA := store.ParseBytes(asked)
		b, errB := store.ParseBytes(told)
		return errA == nil && errB == nil && a == b
	}
	return false
}
