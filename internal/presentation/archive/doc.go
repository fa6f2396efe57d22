// Package archive keeps the figures of many runs, and finds where they changed.
//
//  1. archive.go  the store: one SQLite file, a row for each run and for each figure of it
//  2. entry.go    a run and its result → what is kept of it
//  3. seal.go     checksums, and files of older versions
//  4. series.go   the figures of like runs, in the order of their commits → series with changes
//  5. between.go  like runs between which nothing changed → how far two runs of a machine differ
//  6. text.go     changes → sentences
//
// Runs are alike where experiment and machine are: the same experiment.json, byte for byte, on a
// machine of the same processor, CPUs, memory and file system. A commit is one point, the geometric
// mean of its runs. Nothing is kept of figures that have no rank: a series has a gap there.
package archive
