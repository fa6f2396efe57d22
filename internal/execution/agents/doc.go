// Package agents does a phase's work on other machines. An agent does on its machine what the
// conductor does on one: it makes its threads' traces, starts workers of its own binary, lets them
// begin at a given moment, and reads their counters. The conductor sees each of these workers as one
// of its own: [Worker] is asked as conductor.Worker is, and what a remote worker counts is copied into
// the conductor's counters file, so that all that judges a phase reads one file.
//
// NATS carries the messages, finds out who is there, and reconnects:
//
//	secret.go   the token, and messages that only who has it can have made, each once
//	messages.go what conductor and agent say to each other
//	clock.go    how far an agent's clock is from the conductor's, and how well that is known
//	hub.go      the conductor's side: the NATS server, who has joined, who is lost
//	launch.go   agents that the conductor starts
//	ssh.go      those of other machines; containers.go: those in containers
//	worker.go   a worker of an agent, as the conductor sees it
//	agent.go    the agent's side: joining, the lease, what it consents to
//	hosted.go   a worker of an agent, as the agent sees it
//	guard.go    what ends an agent's workers while the agent itself is stopped
//
// What holds between the two sides:
//
//   - Traces never travel. Both make them of the same specs, and compare digests of the share.
//   - An order has a number. It is sent again until it is answered, and done once.
//   - An agent that does not hear of its conductor for the lease ends its workers, whatever the
//     reason. The conductor takes it for lost only after that.
//   - Times are of CLOCK_MONOTONIC of the machine that tells them; the conductor translates.
//
// # Decisions
//
//   - An agent has a guard, a process that ends its workers while the agent itself is stopped: a
//     lease that only the stopped process could keep is none. Workers can't keep it themselves,
//     since they may be in any language and are never spoken to in a phase.
package agents
