// Package detect turns facts into findings: one file a family, each detector a function of a run and
// its tables that looks for one cause and stays silent without it.
//
//  1. judge.go      tables → findings that may take a rank → ranks → all other findings
//  2. detectors.go  the list of detectors, and what they share
//  3. causes.go     which finding explains which
//  4. reasons.go    why a row has no rank, as a message
//
// What a detector says is data: the sentences are in package finding. Nothing after it judges.
package detect
