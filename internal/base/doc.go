// Package base is the floor that the others stand on.
//
//	format      numbers, units, times and lists in words
//	finding     codes of findings and marks, their parameters and their sentences
//	histogram   log-linear buckets, the same in every worker
//	clock       the worker's clock
//	memfile     files in memory without a name
//	bounded     files and programs of others, read to a bound
//	mounts      which file systems are mounted, and where
//	owned       what Assay made outside the run directory, written down before it is made
//
// Nothing here knows what an experiment is.
package base
