package nats

import (
	"flag"
	"fmt"
	"os"

	natsserver "github.com/nats-io/nats-server/v2/server"
)

// ServerCommand is the first argument with which Assay's own executable is a NATS server: the one
// server that needs no package, in a process of its own as any other.
const ServerCommand = "nats-server"

// ServeIfAsked ends the program as a NATS server if its first argument asks for one. A test binary
// that starts the server calls it first.
func ServeIfAsked() {
	if len(os.Args) > 1 && os.Args[1] == ServerCommand {
		os.Exit(ServerMain(os.Args[2:]))
	}
}

// ServerMain is nats-server, with the arguments of that program. It returns the exit status.
func ServerMain(arguments []string) int {
	status, err := serve(arguments)
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", ServerCommand, err)
		return 1
	}
	return status
}

func serve(arguments []string) (status int, err error) {
	flags := flag.NewFlagSet(ServerCommand, flag.ContinueOnError)
	done := func(print func()) func() {
		return func() { print(); os.Exit(0) }
	}
	version := done(func() { fmt.Printf("%s: v%s\n", ServerCommand, natsserver.VERSION) })
	usage := done(func() { fmt.Println("usage: assay nats-server [-c FILE] [--version]") })
	options, err := natsserver.ConfigureOptions(flags, arguments, version, usage, usage)
	if err != nil {
		return 2, err
	}
	s, err := natsserver.NewServer(options)
	if err != nil {
		return 1, err
	}
	s.ConfigureLogger()
	if err := natsserver.Run(s); err != nil {
		return 1, err
	}
	s.WaitForShutdown()
	return 0, nil
}
