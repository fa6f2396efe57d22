package wire

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"
)

// A connection that no operation waits for has time to get through a listen queue that ran over; one that an
// operation waits for has that operation's time alone.
func TestOpenHasMoreTimeThanAnOperation(t *testing.T) {
	const ofOperation = 50 * time.Millisecond
	var given time.Duration
	c := Connection{Server: "server", Timeout: ofOperation}
	c.Network = func(_ context.Context, _ string, timeout time.Duration) (net.Conn, error) {
		given = timeout
		return nil, errors.New("no server")
	}
	for _, step := range []struct {
		connect func(context.Context) error
		want    time.Duration
	}{{c.Open, connectPatience}, {c.Dial, ofOperation}} {
		if err := step.connect(t.Context()); err == nil || given != step.want || c.Timeout != ofOperation {
			t.Errorf("it had %v, expected %v; then an operation has %v (%v)", given, step.want, c.Timeout, err)
		}
	}
	if c.Timeout = time.Minute; c.Open(t.Context()) == nil || given != time.Minute {
		t.Errorf("it had %v of a minute", given)
	}
}
