// Package evidence is the floor of what was seen.
//
// It turns what workers and the machine leave behind into a record that needs no store to be read:
//
//	counters   is the mapped file in which a worker counts; single words, one writer each
//	host       samples the machine: CPU, memory, IO, sockets, the processes of a trial
//	answers    computes what queries must find
//	audit      holds what was read back against what was acknowledged
//	history    checks sampled keys as registers
//	record     writes and reads the run directory
//
// Nothing here judges: a figure that was not measured is nil, never zero, and a trial whose sums do
// not hold is marked where it is recorded.
package evidence
