package facts

import (
	"regexp"

	"assay/store"
)

// undoing are the commands that Assay itself knows to undo what a run can leave on a server.
var undoing = regexp.MustCompile(`^etcdctl --endpoints=[A-Za-z0-9.:\[\]-]+ (compact [0-9]+|defrag|alarm disarm)$`)

// Undo returns the commands that undo a state of a server, in order, where Assay knows each of them. What
// a run directory or a worker has is text of theirs: nil, and it is no command to offer.
func Undo(left store.Left) []string {
	for _, command := range left.Undo {
		if !undoing.MatchString(command) {
			return nil
		}
	}
	return left.Undo
}
