// Package natstest starts a NATS server in the test's own process, as one that somebody else runs.
package natstest

import (
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// patience is how long a server of a busy machine may take to answer.
const patience = 2 * time.Minute

// Start starts a server at an address of this machine, on any port. It asks for this authorization,
// and ends with the test.
func Start(t *testing.T, address, authorization string) *server.Server {
	t.Helper()
	s, err := server.NewServer(&server.Options{Host: address, Port: server.RANDOM_PORT, NoLog: true, NoSigs: true,
		Authorization: authorization, MaxPending: 256 << 20})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(s.Shutdown)
	if !s.ReadyForConnections(patience) {
		t.Fatal("the NATS server does not answer")
	}
	return s
}
