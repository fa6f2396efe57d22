package postgres

import (
	"errors"
	"strings"
	"testing"
	"time"

	"assay/internal/testkit/drivertest"
	"assay/internal/testkit/servertest"
	"assay/store"
)

// Reads and scans are the standby's: they go on where the primary is frozen. What is written is there a
// while later.
func TestReadsGoToTheStandby(t *testing.T) {
	t.Parallel()
	g := servertest.StartReplicas(t, Program, store.D3, nil, 1)
	clients(t, func(t *testing.T, client string) {
		options := map[string]string{"client": client, "read_from": "replica", "schema": "read_" + client[:4], "operation_timeout": "60s"}
		c := config(t, g.Members[0], store.D3, options)
		c.Endpoints = g.Endpoints()
		s, h := drivertest.Open(t, Driver{}, c)
		if err := h.Put([]byte("key"), []byte("value")); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(servertest.Patience); ; time.Sleep(5 * time.Millisecond) {
			value, err := h.Get([]byte("key"), nil)
			if err == nil && string(value) == "value" {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("the standby has %q, %v", value, err)
			}
		}
		if told := s.Settings(); told["driver.read_from"] != "replica" || told["driver.replicas"] != "1" {
			t.Errorf("the settings are %v", told)
		}
		if _, told := s.(store.Inspector).Inspect().Stats["replica_behind_bytes"]; !told {
			t.Error("how far the standby is behind is not told")
		}
		thaw := servertest.Freeze(g.Members[0])
		value, err := h.Get([]byte("key"), nil)
		found := 0
		scanErr := h.(store.Scanner).Scan([]byte("k"), 10, func([]byte, []byte) bool { found++; return true })
		thaw()
		if err != nil || string(value) != "value" || scanErr != nil || found != 1 {
			t.Errorf("while the primary stands still: %q, %v; %d found, %v", value, err, found, scanErr)
		}
	})
}

func TestForeignStandbysAreRefused(t *testing.T) {
	t.Parallel()
	ours := servertest.StartReplicas(t, Program, store.D3, nil, 1)
	alone := servers.Get(t, Program, store.D3)
	for name, given := range map[string]struct {
		endpoints []string
		options   map[string]string
		want      string
	}{
		"of another primary": {[]string{alone.Endpoint(), ours.Endpoints()[1]}, nil, "the server is the standby of another primary"},
		"the standby first":  {[]string{ours.Endpoints()[1], ours.Endpoints()[0]}, nil, "which takes no writes"},
		"none is named":      {ours.Endpoints()[:1], map[string]string{"read_from": "replica"}, "expected its standbys' endpoints behind it"},
		"no standby":         {[]string{ours.Endpoints()[0], alone.Endpoint()}, nil, "the server is no standby"},
	} {
		c := config(t, ours.Members[0], store.D3, given.options)
		c.Endpoints = given.endpoints
		_, err := (Driver{}).Open(t.Context(), c)
		if !errors.Is(err, store.ErrRefused) || !strings.Contains(err.Error(), given.want) {
			t.Errorf("%s: %v, expected %q", name, err, given.want)
		}
	}
}
