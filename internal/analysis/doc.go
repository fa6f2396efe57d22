// Package analysis is the floor of what a run means.
//
// It turns a run directory into tables and findings, and never asks a store or the machine:
//
//	stat      is the mathematics of comparisons: intervals, variances moderated across arms, power
//	series    finds what a rate does over time: steps, declines, drops, oscillation
//	facts     makes tables, ranks and courses of both: numbers and states
//	detect    makes findings of facts
//	compare   holds runs and arms against each other
//
// The same run directory gives the same result. Doubt travels with the number that it concerns.
package analysis
