// Package detect turns facts into findings: one file a family, each detector a function of a run and
// its tables that looks for one cause and stays silent without it.
//
//  1. judge.go      tables → findings that may take a rank → ranks → all other findings
//  2. detectors.go  the list of detectors, and what they share
//  3. causes.go     which finding explains which
//  4. reasons.go    why a row has no rank, as a message
//  5. schedule.go   which tables more blocks would decide
//
// Each other file is a family, by what its detectors look at:
//
//	trials.go, early.go, work.go, checks.go, consistency.go  what was done, lost, wrong, not verified
//	rates.go, overtime.go, pauses.go, starved.go             what a rate did, and who had no turn
//	harness.go, client.go, binding.go, connections.go        whether the client limits, or differs
//	network.go                                               whether the network does
//	openload.go, replay.go                                   load that was not kept up with
//	machine.go, memory.go, disk.go, collections.go           the machine, its limits, the JVM's collector
//	durability.go, settings.go, plans.go                     what a class costs, what is set, how queries go
//	servers.go, server_faults.go, server_lies.go             several servers, their faults and lies
//	interference.go, carryover.go, agents.go, to_detect.go   groups, trials before, machines, blocks
//
// What a detector says is data: the sentences are in package finding. Nothing after it judges.
package detect
