// Package experiment is the experiment with every default written out, and the floor of what is to be
// done: which stores, under which parameters, doing what.
//
// The parts of an experiment are values: package read makes them, a run directory keeps them as JSON,
// and nothing changes them later. What can be derived from them (a label, the threads of a process, the
// reason why a store can't run in a cell) is derived here, by each part for itself, so that a run and a
// report of it that is made years later say the same. Everything else follows from the resolved
// experiment and its seed.
//
//	experiment.go  the experiment: stores, cells, values, phases
//	axes.go        the parameters in which cells differ, and the label of a cell
//	agents.go      where agents are, and how many do a cell
//	capacity.go    a search for a capacity
//	ceilings.go    the null driver whose rate bounds that of a store
//	columns.go     records with columns, and their indexes
//	cpus.go        which CPUs a trial's ends are pinned to
//	crash.go       how stores are cut off
//	faults.go      what happens to servers in a phase
//	groups.go      what works at the same time in a phase
//	jvm.go         what a client for the JVM asks of it
//	mix.go         what a phase does, in words
//	queries.go     what queries ask
//	rates.go       a rate that changes over time; staircase.go: threads that do
//	refusal.go     why a store can't run in a cell, or do a phase
//	replay.go      recorded traffic that a phase plays
//	server.go      the server that Assay starts, and what it can ask of one
//	tasks.go       how the clients of a phase are parted over processes
//	ttl.go         values with a time to live
//
// In this folder:
//
//	read      turns a file, a preset or a command line into an experiment, and refuses what can't be
//	plan      turns cells into blocks of trials, shuffled by the seed, within a time limit
//	recording reads recorded traffic, and says how far what was sent differs from it
//	imitation says what a recording is like, and writes an experiment that imitates it
//	trace     turns a phase into the operations of each thread: all randomness is here
//	keyval    turns an index and a version into key, value and columns, the same in every language
package experiment
