package drivertest

import (
	"testing"
	"time"

	"assay/internal/server"
	"assay/internal/server/servertest"
	"assay/store"
)

// patience is how long a server may take to start and to stop. No test waits for it.
const patience = time.Minute

// StartServer is [servertest.Start].
func StartServer(t testing.TB, p server.Program, class store.Durability, options map[string]string) *server.Instance {
	t.Helper()
	return servertest.Start(t, p, class, options)
}
