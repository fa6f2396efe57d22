// Package execution is the floor that does an experiment.
//
// It turns the trials of a plan into the run directory's record:
//
//	server      starts the server that an arm asks for, in a directory of its own, and reads its settings back
//	child       owns each process that Assay starts, and ends it with Assay
//	control     is the JSON lines between conductor and worker
//	conductor   speaks them to a worker: describe, open, define, prepare, run, inspect, close
//	run         does the blocks: each trial's phases, samples and checks; it alone knows how the parts meet
//	event       is what a run reports meanwhile, for views of it
//
// A process is started only through child. A worker is never spoken to during an operation. What a
// run asks of its analysis (is another block needed?) is handed to it by the command.
package execution
