package finding

import "cmp"

// differences are the words for what in a trial is not as in a proof of its store (proof.OtherProgram …).
var differences = map[string]string{
	"program":       "another program or build",
	"version":       "another version",
	"options":       "other options",
	"settings":      "other settings",
	"servers":       "another number of servers",
	"file-system":   "another file system",
	"mount-options": "other mount options",
}

// Difference says what a proof was made of and a trial is not.
func Difference(code string) string { return cmp.Or(differences[code], code) }
