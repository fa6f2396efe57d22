package mariadb

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"assay/internal/testkit/drivertest"
	"assay/internal/testkit/loopback"
	"assay/store"
)

// What the library panics over while it logs in is an error, for every kind of handle.
func TestLibraryThatPanicsIsAnError(t *testing.T) {
	for name, greeting := range map[string]string{
		"an error of two bytes":      "\xff\x01",
		"a greeting that is cut off": "\x0a10.11\x00\x01\x00\x00\x00",
	} {
		endpoint := loopback.Listen(t, func(c net.Conn) {
			if _, err := c.Write([]byte(greetingOf(greeting))); err != nil {
				return
			}
			_, _ = c.Read(make([]byte, 1)) // until the client goes
		})
		c := drivertest.Config(t, Driver{}.Describe(), store.D0, map[string]string{"user": "somebody", "operation_timeout": "10s"})
		c.Endpoints = []string{endpoint}
		s, err := Driver{}.Open(t.Context(), c)
		if err == nil {
			t.Fatal(errors.Join(errors.New("opened"), s.Close()))
		}
		if !strings.Contains(err.Error(), "connecting, the client panicked") {
			t.Errorf("%s: %v", name, err)
		}
		d := &db{}
		if err := d.Configure("mariadb", "database", c, false); err != nil {
			t.Fatal(err)
		}
		if err := d.configure(c); err != nil {
			t.Fatal(err)
		}
		if _, err := d.dialLane(context.Background(), endpoint, 10*time.Second); err == nil ||
			!strings.Contains(err.Error(), "connecting, the client panicked") {
			t.Errorf("%s, a lane: %v", name, err)
		}
	}
}

// greetingOf is the packet of number 0.
func greetingOf(body string) string { return string([]byte{byte(len(body)), 0, 0, 0}) + body }
