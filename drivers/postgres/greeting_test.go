package postgres

import (
	"encoding/binary"
	"errors"
	"net"
	"runtime"
	"testing"
	"time"

	"assay/internal/testkit/drivertest"
	"assay/internal/testkit/loopback"
	"assay/store"
)

// A server, or what stands at its endpoint, announces a greeting of 960 MB: no memory is taken for it.
//
// Fault (conductor): a server announces a greeting of 960 MB
// Assay: the connection is given up; no memory is taken for it
func TestGreetingThatIsTooLongIsRefused(t *testing.T) {
	endpoint := loopback.Listen(t, func(c net.Conn) {
		if _, err := c.Read(make([]byte, 1024)); err != nil {
			return
		}
		greeting := binary.BigEndian.AppendUint32([]byte{'R'}, 960<<20)
		if _, err := c.Write(append(greeting, make([]byte, 1<<20)...)); err != nil {
			return
		}
		_, _ = c.Read(make([]byte, 1)) // until the client goes
	})
	c := drivertest.Config(t, Driver{}.Describe(), store.D0, map[string]string{"user": "somebody", "operation_timeout": "10s"})
	c.Endpoints = []string{endpoint}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began := time.Now()
	s, err := Driver{}.Open(t.Context(), c)
	runtime.ReadMemStats(&after)
	if err == nil {
		t.Fatal(errors.Join(errors.New("opened"), s.Close()))
	}
	if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > 64 {
		t.Errorf("took %d MB in %v: %v", took, time.Since(began), err)
	}
}
