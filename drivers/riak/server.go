package riak

import "assay/internal/execution/server"

// Program is a node's program. It is found, and not started: no package has it, and a release of it
// brings its own configuration and users.
var Program = server.Program{
	Driver:           name,
	Binaries:         []string{"riak"},
	VersionArguments: []string{"version"},
	Missing: "Debian has no package; where a Riak runs, an experiment names it: " +
		"riak@HOST:8087",
}
