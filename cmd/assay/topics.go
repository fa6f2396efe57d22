package main

import "github.com/spf13/cobra"

// topics are what assay help TOPIC explains beside the commands.
func topics() (commands []*cobra.Command) {
	for _, t := range []struct{ name, alias, short, long string }{
		{"units", "unit", "How numbers, lengths, durations and rates are written", `Numbers      5, 0.5, 1_000, 1e6; 10k, 2M, 1G are powers of 1000
Bytes        100, 4KiB, 64MiB (powers of 1024), 4kB, 64MB (powers of 1000); a bare k, m or g
             is refused: tools differ on what it means
Durations    300ms, 10s, 5m, 2h
Rates        5000, 10k, 5000/s: operations a second over all threads
Shares       5%, 0.05
Thresholds   rate < 0.95x (a ratio, new to old); p99 > 10ms, rate < 20k, memory > 1GiB

On the screen k, M and G are powers of 1000, and latencies have their own unit (µs, ms).`},
		{"classes", "durability", "What the durability classes D0 to D4 promise", `What an acknowledged write survives:

D0           nothing: it may be lost when the process dies
D1           the end of the process, not a power cut
D2(100ms)    a crash loses at most the last 100 ms; the window must be given
D3           a power cut: it was synced before it was acknowledged
D4           the loss of a machine: another one had it

Without --durability a run takes the strongest class that all its stores reach, of a server the one
that its settings give. assay drivers NAME shows how each class is reached. assay crash tries a
class by kills and power cuts. docs/durability.md has the rest.`},
		{"endpoints", "endpoint", "How stores and servers are named on a command line", `pebble                      an engine: each trial gets an empty directory
pebble[cache_bytes=8MB]     with an option; [cache_bytes=8MB,64MB] makes two arms
etcd@start[server.count=1,3]  fields of server: too: options of the server, count, replicas, settings.NAME
redis@start                 a server that Assay starts for each trial; redis alone is that, too
redis@start=/PATH/PROGRAM   the same, of this program: another version, or a fork
redis@127.0.0.1:6379        a server that is running; without a port, the product's own
redis://HOST, rediss://HOST the same as an address; rediss uses TLS
redis@/run/redis.sock       the same by its Unix socket, or redis+unix:///run/redis.sock
redis@HOST?OPTION=VALUE     an option of the driver, such as credentials_env=NAME for a login

A server that is not on this machine's loopback needs --allow-remote. Redis, memcached, PostgreSQL,
MariaDB and MongoDB are also reached by Unix sockets. assay drivers lists the drivers, docs/servers.md
has logins, TLS and clusters. Valkey, KeyDB, Redict and Dragonfly are measured by the driver redis,
MySQL by mariadb.

Flags of other tools that mean one thing alone are taken for it (-t 8, -c 50, -n 1000, -d 30s,
--ratio 1:10, --pipeline 16), and the line that was read is printed.`},
		{"exit-statuses", "exit", "What each exit status means", `0    all is well; assay compare: no regression
1    Assay failed, or could not write
2    bad arguments, or a bad experiment
3    trials failed, were marked, or are left to do (Ctrl-C), or each store was refused
4    a regression, or a figure beyond --fail-if
5    inconclusive: the figures don't decide it
130  Ctrl-C a second time`},
	} {
		c := &cobra.Command{Use: t.name, Aliases: []string{t.alias}, Short: t.short, Long: t.long}
		c.SetHelpTemplate("{{.Long}}\n")
		commands = append(commands, c)
	}
	return commands
}

// isTopic reports whether a command only explains something.
func isTopic(c *cobra.Command) bool { return !c.Runnable() && !c.HasSubCommands() }
