package facts

import (
	"slices"
	"testing"

	"assay/store"
)

// A directory from a stranger brings its own commands: none of them is offered.
func TestOnlyKnownCommandsUndo(t *testing.T) {
	t.Parallel()
	known := []string{"etcdctl --endpoints=[::1]:2379 compact 31", "etcdctl --endpoints=127.0.0.1:2379 defrag", "etcdctl --endpoints=db-1:2379 alarm disarm"}
	if got := Undo(store.Left{State: "full", Undo: known}); !slices.Equal(got, known) {
		t.Errorf("%q", got)
	}
	for _, other := range []string{
		"rm -rf /", "etcdctl --endpoints=a;rm -rf ~ defrag", "etcdctl --endpoints=a defrag; rm -rf ~", "etcdctl --endpoints=a del --prefix ''",
		"etcdctl --endpoints=$(id) defrag", "etcdctl --endpoints=a compact 1\nrm -rf ~", "etcdctl --endpoints=a compact REVISION", "",
	} {
		if got := Undo(store.Left{State: "full", Undo: append(slices.Clone(known), other)}); got != nil {
			t.Errorf("%q is offered", other)
		}
	}
}
