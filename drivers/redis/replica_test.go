package redis_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	library "github.com/redis/go-redis/v9"

	"assay/drivers/redis"
	"assay/internal/testkit/drivertest"
	"assay/internal/testkit/servertest"
	"assay/store"
)

// become waits until a key has a value.
func become(t *testing.T, h store.Handle, key, want string) {
	t.Helper()
	for end := time.Now().Add(servertest.Patience); ; time.Sleep(5 * time.Millisecond) {
		value, err := h.Get([]byte(key), nil)
		if err == nil && string(value) == want {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s is %q, %v, expected %q", key, value, err, want)
		}
	}
}

// Reads are the replica's: they go on where the primary is frozen, and stay what they were where the
// replica follows no more. Writes, and what they read first, are the primary's.
func TestReadsGoToTheReplica(t *testing.T) {
	t.Parallel()
	for _, client := range []string{"lean", "go-redis"} {
		t.Run(client, func(t *testing.T) {
			t.Parallel()
			g := servertest.StartReplicas(t, redis.Program, store.D1, map[string]string{"save": "none"}, 1)
			c := drivertest.Config(t, redis.Driver{}.Describe(), store.D1, map[string]string{"client": client, "read_from": "replica", "operation_timeout": "20s"})
			c.Endpoints = g.Endpoints()
			s, h := drivertest.Open(t, redis.Driver{}, c)
			must(t, h.Put([]byte("key"), []byte("first")))
			become(t, h, "key", "first")
			if told := s.Settings(); told["driver.read_from"] != "replica" || told["driver.replicas"] != "1" {
				t.Errorf("the settings are %v", told)
			}
			thaw := servertest.Freeze(g.Members[0])
			value, err := h.Get([]byte("key"), nil)
			thaw()
			if err != nil || string(value) != "first" {
				t.Errorf("while the primary stands still: %q, %v", value, err)
			}

			replica := library.NewClient(&library.Options{Addr: g.Members[1].Endpoint()})
			defer func() { _ = replica.Close() }()
			must(t, replica.Do(t.Context(), "REPLICAOF", "NO", "ONE").Err())
			must(t, h.(store.CompareAndSwapper).CompareAndSwap([]byte("key"), []byte("first"), []byte("second")))
			if err := h.(store.CompareAndSwapper).CompareAndSwap([]byte("key"), []byte("first"), []byte("third")); !errors.Is(err, store.ErrConflict) {
				t.Errorf("a swap reads the replica: %v", err)
			}
			values := make([][]byte, 1)
			if _, err := h.(store.MultiGetter).MultiGet([][]byte{[]byte("key")}, values, nil); err != nil || string(values[0]) != "first" {
				t.Errorf("a replica that follows no more gives %q, %v", values[0], err)
			}
			become(t, h, "key", "first")

			c.Options["read_from"] = "primary"
			if _, err := (redis.Driver{}).Open(t.Context(), c); !errors.Is(err, store.ErrRefused) || !strings.Contains(err.Error(), "is no replica") {
				t.Errorf("a server that is no replica any more: %v", err)
			}
		})
	}
}

func TestForeignReplicasAreRefused(t *testing.T) {
	t.Parallel()
	ours := servertest.StartReplicas(t, redis.Program, store.D1, map[string]string{"save": "none"}, 1).Endpoints()
	alone := startServer(t, store.D1)
	for name, given := range map[string]struct {
		endpoints []string
		options   map[string]string
		want      string
	}{
		"of another primary": {[]string{alone, ours[1]}, nil, "is a replica of another primary than " + alone},
		"the replica first":  {[]string{ours[1], ours[0]}, nil, "is a replica: it takes no writes"},
		"none is named":      {ours[:1], map[string]string{"read_from": "replica"}, "expected its replicas' endpoints behind it"},
		"no replica":         {[]string{ours[0], alone}, nil, "is no replica"},
	} {
		c := drivertest.Config(t, redis.Driver{}.Describe(), store.D1, given.options)
		c.Endpoints = given.endpoints
		_, err := redis.Driver{}.Open(t.Context(), c)
		if !errors.Is(err, store.ErrRefused) || !strings.Contains(err.Error(), given.want) {
			t.Errorf("%s: %v, expected %q", name, err, given.want)
		}
	}
	c := drivertest.Config(t, redis.Driver{}.Describe(), store.D1, map[string]string{"read_from": "primary"})
	c.Endpoints = ours
	_, h := drivertest.Open(t, redis.Driver{}, c)
	must(t, h.Put([]byte("key"), []byte("value")))
	wantGet(t, h, "key", []byte("value"))
}
