package run

import (
	"assay/internal/execution/phasefiles"
	"assay/internal/experiment/trace"
)

// mapFiles makes the files of a phase that so many processes do. What goes wrong is Assay's own
// fault, never the store's.
func mapFiles(file *trace.File, processes int) (*phasefiles.Files, error) {
	files, err := phasefiles.Make(file, processes, historyRoom(file))
	if err != nil {
		return nil, ownFault{err}
	}
	return files, nil
}

// mapCounters makes those of a phase that processes of other machines do.
func mapCounters(file *trace.File, processes int) (*phasefiles.Files, error) {
	files, err := phasefiles.MakeCounters(file, processes, historyRoom(file))
	if err != nil {
		return nil, ownFault{err}
	}
	return files, nil
}
