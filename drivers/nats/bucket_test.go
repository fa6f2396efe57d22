package nats

import (
	"context"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

// refusing is a server that can't make a bucket so many times.
type refusing struct {
	jetstream.JetStream
	with         error
	times, asked int
}

func (r *refusing) CreateKeyValue(context.Context, jetstream.KeyValueConfig) (jetstream.KeyValue, error) {
	r.asked++
	if r.asked > r.times {
		return nil, nil
	}
	return nil, r.with
}

func TestBucketWhoseFoldersVanishIsAskedForAgain(t *testing.T) {
	vanished := &jetstream.APIError{Code: 500, ErrorCode: notCreated,
		Description: "could not create storage directory - mkdir streams: no such file or directory"}
	for name, c := range map[string]struct {
		server refusing
		made   bool
	}{
		"at once":       {refusing{}, true},
		"twice refused": {refusing{with: vanished, times: 2}, true},
		"for ever":      {refusing{with: vanished, times: 1000}, false},
		"another error": {refusing{with: jetstream.ErrBucketExists, times: 1}, false},
	} {
		err := (&db{}).create(t.Context(), &c.server)
		if (err == nil) != c.made {
			t.Errorf("%s: after %d requests: %v", name, c.server.asked, err)
		}
		if name == "another error" && c.server.asked != 1 {
			t.Errorf("%s: asked %d times", name, c.server.asked)
		}
	}
}
