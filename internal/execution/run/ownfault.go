package run

import "errors"

// errRunDirectory is wrapped by what goes wrong on Assay's own side.
var errRunDirectory = errors.New("files can't be written")

// ownFault is an error of Assay's own that is no error of the run directory, but ends the run as
// one does: the trial can't be held against its store.
type ownFault struct{ error }

func (f ownFault) Unwrap() error { return f.error }

func (f ownFault) Is(target error) bool { return target == errRunDirectory }
