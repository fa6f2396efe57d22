package c_test

import (
	"os/exec"
	"testing"
)

// The declarations that the Rust driver makes by hand are those of the header: sizes, offsets and values.
func TestRustDeclarationsAreTheHeaders(t *testing.T) {
	plain.worker(t, "redb") // or skips
	if output, err := exec.Command(plain.tool(t, "layout", "layout")).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, output)
	}
}
