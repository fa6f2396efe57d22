package drivertest

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"assay/internal/server"
	"assay/store"
)

// patience is how long a server may take to start and to stop. No test waits for it.
const patience = time.Minute

// StartServer runs the real server until the test ends, and skips the test visibly where it is not
// installed. Options are the program's; class is what acknowledged writes must reach.
func StartServer(t testing.TB, p server.Program, class store.Durability, options map[string]string) *server.Instance {
	t.Helper()
	// The server may run as another user, who can't enter t.TempDir.
	directory, err := os.MkdirTemp("", "assay-server-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(directory); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(directory, 0o711); err != nil {
		t.Fatal(err)
	}
	i, err := server.Start(context.Background(), p, server.Request{
		Directory: directory, Log: t.Output(), Class: class, Options: options, Patience: patience,
	})
	if errors.Is(err, server.ErrNotInstalled) {
		t.Skipf("SKIPPED: %v, so that the driver is not tested against the real server", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := i.Stop(patience); err != nil {
			t.Error(err)
		}
	})
	return i
}
