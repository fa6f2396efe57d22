// Package analysis is the floor of what a run means.
//
// It turns a run directory into tables and findings, and never asks a store or the machine:
//
//	stat      is the mathematics of comparisons: intervals, variances moderated across arms, power
//	series    finds what a rate does over time: steps, declines, drops, oscillation
//	verdict   makes tables and findings of both
//	model     is what they are made into, for whoever shows it
//
// The same run directory gives the same result. Doubt travels with the number that it concerns.
package analysis
