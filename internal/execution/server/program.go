// Package server starts the installed programs of servers under test, and owns what it starts.
//
//	program.go   what a driver's folder says of its server: [Program]
//	find.go      which of the programs are installed, and in which version
//	start.go     [Start]: a loopback port, a directory, a process that answers, its settings
//	initial.go   the first files of a server, made once a run and copied for each
//	group.go     [StartGroup]: several servers that make one store
//	instance.go  the server while it runs, and its end
//	port.go      ports that no connection is given
//	crash.go     kills that leave it no time; fault.go: those that are undone
//	restart.go   servers that were cut off, on the files that they left
//	startable.go what experiments ask of all programs
//	guard.go     what it demands of those who connect: TLS, a login
//	output.go    what it writes
//	proxy.go     [Proxy]: what stands between clients and a server; shape.go: what it does to what passes
//	build.go     [Build]: a program of a commit of its source
//	container.go a program in the image of a container
//
// A server has one owner: the process that called Start. It is ended with that process, however
// that ends; what a kill leaves is found by its note (package owned) and ended by the next run.
//
// # Decisions
//
//   - A server that Assay starts is the trial's alone: fresh for each trial, on a port that the
//     kernel gives to no connection, in the trial's data directory. So its keys need no name
//     space, and its files count as an embedded store's (experiment.Store.KeepsFiles). It tells
//     the settings that it was asked for, or the trial fails.
//   - A database's first files (initdb) are made once a run, and copied for each server: making them
//     takes longer than many a phase. The first server gets a copy, too, so that all trials begin
//     alike. A copy is written anew: were its blocks shared (reflink), the first write to each would
//     cost more than to a store's own. All copies have one PostgreSQL system identifier, by which
//     standbys know their primary; here each start has a port and a password of its own for that. No
//     two runs share files.
//   - Several servers of one store are a group, and one server is a group of one: starting,
//     watching, ending and recording are written once. They start one after the other, so that a
//     later member of a cluster knows those before it; if one can't be started, none is left.
//     Independent servers share an address and differ in ports; members of a cluster have one
//     address each (127.0.0.1, 127.0.0.2, …) and the same ports, as programs want it that find
//     each other by address alone.
//   - One server is linked in: NATS's, which is a Go module. It is still a process of its own,
//     started as any other (server.Program.Linked): its CPU time and memory are the server's and
//     not Assay's, and a kill of it ends nothing else.
//   - A container has the machine's network and its server's directory at the same path: what a server is
//     asked for, and listens at, is then what it would be without one, and nothing stands between it and its
//     clients. Its processes are this machine's, so that they are watched and killed as others are. The
//     runtime's command is the child that is waited for.
//   - Two signs tell whose a process is: a mark in its environment, and its server directory as
//     descriptor 3. Servers that show a title in ps (Redis, PostgreSQL) overwrite the environment,
//     and those that go into the background close standard output.
package server

import (
	"context"
	"regexp"
	"syscall"

	"assay/store"
)

// Program is a server that Assay can start. A driver's folder exports one in server.go, and
// drivers.Programs lists it. Fields that are not said to be optional are needed.
type Program struct {
	Driver string // the name of the driver that speaks to it: "redis"

	// Binaries are what is looked for, the best first: a name ("redis-server") in PATH and in the
	// directories of system programs, or a pattern ("/usr/lib/postgresql/*/bin/postgres"), of whose
	// matches the one with the highest version is taken.
	Binaries []string
	// Others are binaries of other programs that speak the driver's protocol, as Binaries: an arm may
	// name one, and doctor lists them. Optional.
	Others []string
	// Needs are what the binary does not run without: a program in PATH ("java"), or a pattern from
	// the binary's own directory ("lib/main-*.jar"). A binary without one of them is not installed.
	Needs []string
	// Linked says that it is a part of Assay's own executable, which is then the binary:
	// VersionArguments and Command begin with the subcommand. Binaries and Packages are left out.
	Linked bool
	// VersionArguments make the binary print its version. Optional: --version.
	VersionArguments []string
	// Tells matches what the binary prints then, if it speaks the driver's protocol. Its first group is
	// the product's name, if several do ("Valkey server v=9"). Optional: every program is believed.
	Tells *regexp.Regexp
	// Packages are the Debian packages that bring it: the line that installs it is made of them.
	Packages []string
	// Missing says how to get it, where Packages are none.
	Missing string

	// named is the binary that somebody names in place of Binaries; "": none is. See By.
	named string

	// Builds is how it is built of its source: server: {build: {git: DIR}}. Optional: the experiment says it.
	Builds Recipe

	// Options are the settings that an experiment may change: server: {options: {NAME: VALUE}}.
	// A default is the program's own, unless Help says otherwise.
	Options []store.Option
	// AnySetting says that an experiment may also set what Options do not declare, by the program's
	// own names: server: {settings: {NAME: VALUE}}. They are then part of Instance.Asked.
	AnySetting bool

	// Class returns the options that give a durability class, and whether any do. They stand
	// between the defaults and the options of the experiment. A driver whose sessions can't choose
	// a class, as these options do, says so (store.Description.ServerSetsClass): loads are then
	// done in the cell's. Optional: no option changes the class.
	Class func(class store.Durability) (options map[string]string, reached bool)

	// Slow says that a start takes tens of seconds, and operations milliseconds: the kit asks less of
	// it (storetest.Target), and other tests of all servers leave it to ASSAY_LONG and to those of its
	// own driver.
	Slow bool
	// Several says how several servers of it make one store. Optional: they don't.
	Several Several
	// Majority says that a [Cluster] (of more than one) serves all records while most of its members run.
	Majority bool
	// Replicates says that further servers can be replicas of the first, to read from: Prepare, Asked and
	// Ready then do for one with an Instance.Primary what makes it follow that one.
	Replicates bool
	// PeerPort says that it also listens at Instance.PeerPort, where other members talk to it.
	PeerPort bool

	// Roams says that clients also of one server connect to the address that it announces. Those of
	// a cluster always do.
	Roams bool
	// InMemory says that it keeps no files: its directory stays empty, but for those of a [Guard].
	InMemory bool
	// NotAsRoot are users, the best first, of whom the first that exists runs it where Assay is
	// root. A program that changes its user itself loses PR_SET_PDEATHSIG, and would outlive a
	// killed Assay.
	NotAsRoot []string
	// MayBeRoot says that it runs as root anyway where there is no such user, or where that
	// user has no access to the data, or to the program. Optional: it is not started there.
	MayBeRoot bool

	// Credentials returns the option of the driver that takes the file by which it logs in, and what
	// stands there, but for the line end. Optional: credentials_file, and USER:PASSWORD.
	Credentials func(g Guard) (option, text string)
	// Open says why a server of a program that demands no login by default takes connections of
	// everybody on the machine, and what they can do there. Every other program has a [LoginOption] that is true.
	Open string

	// Socket returns the name of its Unix socket in Directory, where it has the [SocketOption]. Optional:
	// server.sock.
	Socket func(i *Instance) string

	// Asked returns what Settings must tell if the server does what it was asked to: names and
	// values in the server's own words. It is called first, and fills Instance.Asked.
	Asked func(i *Instance) map[string]string
	// Initial makes what is the same for all servers of a run: initdb. Optional.
	Initial *Initial
	// Prepare makes what else must be there before the program starts: a password, a file of settings.
	// Instance.Run runs a program for it. Optional.
	Prepare func(ctx context.Context, i *Instance) error
	// Move makes the files that Prepare made fit another directory. Optional: they name none.
	Move func(ctx context.Context, i *Instance) error
	// Command returns the arguments after the binary, and settings to add to the environment
	// ("NAME=VALUE"). It must keep the program in the foreground, at Instance.Host and its ports
	// alone: no other TCP port, none of UDP but that of ListensUDP, and no Unix socket outside of
	// Directory (whose path may be longer than the 107 bytes that a socket's may have: the program
	// starts in Directory, so that a relative path does).
	Command func(i *Instance) (arguments, environment []string)
	// ListensUDP says whether it also listens at Host and Port by UDP. Optional: it does not.
	ListensUDP func(i *Instance) bool
	// Ready asks once, by the server's protocol, if it answers. It is called again until it returns
	// nil; ctx bounds one question.
	Ready func(ctx context.Context, i *Instance) error
	// Settings reads the settings in force from the server itself, by the server's own names.
	Settings func(ctx context.Context, i *Instance) (map[string]string, error)
	// Same says if two values of a setting mean the same ("131072kB" and "128MB"). Optional: the
	// same text does.
	Same func(name, asked, told string) bool

	// StopSignal asks it to end; its data is thrown away after that. Optional: SIGTERM.
	StopSignal syscall.Signal
	// DeathSignal is what it gets if Assay is killed. A server that leaves something outside of its
	// directory when it is killed (shared memory) names the signal that makes it end at once
	// instead. Optional: SIGKILL.
	DeathSignal syscall.Signal
}

// Several is how several servers of a program make one store.
type Several string

// The ways.
const (
	// Independent servers do not know each other: the driver spreads keys over them. Each has a port
	// of its own, at Host.
	Independent Several = "independent"
	// Cluster is of members that know each other. Each has an address of its own, and all have the
	// same ports.
	Cluster Several = "cluster"
)

// Host is where all servers listen but the later members of a [Cluster]: an address of loopback,
// and no name that could be resolved to another one.
const Host = "127.0.0.1"
