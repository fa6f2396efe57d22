package main

import (
	"errors"
	"testing"

	"assay/internal/base/bounded"
)

func TestRun_a_file_that_never_ends(t *testing.T) {
	if _, _, err := experimentSource("/dev/zero", nil); !errors.Is(err, bounded.ErrTooMuch) {
		t.Errorf("got %v", err)
	}
}
