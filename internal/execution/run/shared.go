package run

import "assay/internal/execution/phasefiles"

// mapFiles makes the files of a phase that so many processes do. What goes wrong is Assay's own
// fault, never the store's.
func mapFiles(made phaseTrace, processes int) (files *phasefiles.Files, err error) {
	if made.written != nil {
		files, err = phasefiles.MakeWith(made.written, made.file, processes, made.room)
	} else {
		files, err = phasefiles.Make(made.file, processes, made.room)
	}
	if err != nil {
		return nil, ownFault{err}
	}
	return files, nil
}

// mapCounters makes those of a phase that processes of other machines do.
func mapCounters(made phaseTrace, processes int) (*phasefiles.Files, error) {
	files, err := phasefiles.MakeCounters(made.file, processes, made.room)
	if err != nil {
		return nil, ownFault{err}
	}
	return files, nil
}
