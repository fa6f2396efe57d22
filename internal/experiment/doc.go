// Package experiment is the experiment, and the floor of what is to be done: which stores, under
// which parameters, doing what.
//
// It turns a file of a user's, or a preset, into cells with every default written out, and refuses
// what can't be, with line, column and caret. Below it in this folder:
//
//	plan      turns cells into blocks of trials, shuffled by the seed, within a time limit
//	trace     turns a phase into the operations of each thread: all randomness is here
//	keyval    turns an index and a version into key, value and columns, the same in every language
//
// Everything that happens later can be derived from the resolved experiment and its seed.
package experiment
