// Package read makes an experiment from what a user gives: a file, changes by flags, or stores that are
// named on the command line. It writes out every default, expands the matrix of parameters into cells,
// and refuses what can't be, with line, column and caret.
//
// It goes one way. Text becomes a tree of nodes that know their places; changes of scales and flags are
// made to the tree; the tree is decoded into the forms of a file; the resolver turns forms into the
// experiment, topic by topic, and then holds the topics against each other. A form knows how it is
// written and nothing of other fields; the resolver knows what fits together. The tree is kept to the
// end, so that each refusal points at what the user wrote. What a store can do it learns through
// [Drivers] alone. Nothing of this package is in the experiment that it returns.
//
// The way of a file:
//
//	load.go      the way from text to experiment
//	error.go     a mistake: its place, what was expected, what was probably meant
//	node.go      YAML as a tree with places
//	synonyms.go  other names of fields
//	change.go    changes by scales, --set and flags
//	decode.go    the tree into Go values
//	numbers.go   numbers, sizes and durations as people write them
//	file.go      the fields of a file
//	forms.go     the forms of its values
//	drivers.go   what the resolver learns of stores
//	bounds.go    what is taken where a file says nothing, and what it may say at most
//	resolver.go  what every topic needs: places, refusals, notes
//	resolve.go   the order of the topics, and those without a file of their own
//	whole.go     what holds between topics
//
// The topics, most with the form and its resolution:
//
//	agents.go    where agents are
//	axes.go      how a file gives each axis
//	ceilings.go  null drivers of other workers
//	capacity.go  searches for a capacity
//	cells.go     the matrix and its cases
//	choose.go    a workload as a search for a capacity
//	columns.go   records with columns
//	cpus.go      pinned CPUs
//	crash.go     cuts
//	faults.go    faults of servers
//	fill.go      reads that fill what they miss
//	append.go    what appends add
//	follow.go    what follows from the stores
//	groups.go    groups of clients
//	jvm.go       clients for the JVM
//	mix.go       the operations of a mix
//	options.go   the options of drivers and servers
//	phases.go    phases
//	popularity.go  an order by a file of popularities
//	programnames.go  arms that are named after what their programs tell
//	queries.go   queries
//	rates.go     rates, also those that change over time
//	replay.go    recorded traffic; keylengths.go: its keys, each as long as it was
//	request.go   requests of several steps
//	server.go    servers and endpoints
//	shift.go     hot records that move
//	socket.go    endpoints that are Unix sockets
//	staircase.go threads that come and go
//	stores.go    stores
//	tasks.go     threads and processes
//	think.go     pauses before operations
//	ttl.go       times to live
//	values.go    keys and plain values
//
// Beside it:
//
//	flow.go      a text as YAML
//	commandline.go  an experiment as flags, and as a line that says the same
//	arms.go      a store as a command line names it
//	quick.go     the experiment of stores on a command line
//	schema.go    the JSON Schema of a file
//	template.go  the commented example
//	write.go     an experiment as a file again; variants.go: with variants of its first store
//	ycsb.go      the import of YCSB's workloads
package read
