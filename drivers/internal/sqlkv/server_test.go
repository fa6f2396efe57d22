package sqlkv

import (
	"errors"
	"strings"
	"testing"
	"time"

	"assay/store"
)

// answers is a server that has these settings, and tables of which some have records.
func answers(settings map[string]string, full ...string) *Server {
	s := &Server{Place: "assay", Class: store.D3, Timeout: time.Second, placed: "schema"}
	s.Rows = func(text string, _ ...any) (rows [][]string, err error) {
		if table, asked := strings.CutPrefix(text, "SELECT EXISTS (SELECT 1 FROM "); asked {
			for _, f := range full {
				if table == f+")" {
					return [][]string{{"1"}}, nil
				}
			}
			return [][]string{{"0"}}, nil
		}
		for name, value := range settings {
			rows = append(rows, []string{name, value})
		}
		return rows, nil
	}
	return s
}

func TestClassIsProvedBySettings(t *testing.T) {
	settings := map[string]string{"fsync": "on", "log_bin": "OFF"}
	of := func(name string) (string, error) { return settings[name], nil }
	needs := []Need{{Setting: "fsync", Values: []string{"on", "ON"}}, {Setting: "sync_binlog", Values: []string{"1"}, Only: "log_bin"}}
	s := answers(settings)
	if err := s.Prove(needs, of); err != nil {
		t.Error(err)
	}
	settings["log_bin"] = "ON"
	if err := s.Prove(needs, of); !errors.Is(err, store.ErrRefused) || !strings.Contains(err.Error(), "D3 needs sync_binlog=1") {
		t.Errorf("a log that is not synced: %v", err)
	}
	settings["fsync"] = "off"
	if err := s.Prove(needs, of); !errors.Is(err, store.ErrRefused) || !strings.Contains(err.Error(), "fsync=off") {
		t.Errorf("no sync: %v", err)
	}
	gone := errors.New("gone")
	if err := s.Prove(needs, func(string) (string, error) { return "", gone }); !errors.Is(err, gone) {
		t.Errorf("%v", err)
	}
}

func TestWindowIsHeldAgainstTheServer(t *testing.T) {
	s := answers(nil)
	s.Window = time.Second
	if err := s.ProveWindow(time.Second, "x=1"); err != nil || s.LossMax != time.Second {
		t.Errorf("%v, %v", err, s.LossMax)
	}
	if err := s.ProveWindow(2*time.Second, "x=2"); !errors.Is(err, store.ErrRefused) || !strings.Contains(err.Error(), "with x=2 a crash loses what came in the last 2s") {
		t.Error(err)
	}
}

func TestTablesWithARecordAreNotEmpty(t *testing.T) {
	s := answers(nil, "b")
	for _, c := range []struct {
		tables []string
		want   bool
	}{{nil, true}, {[]string{"a"}, true}, {[]string{"a", "b"}, false}} {
		if empty, err := s.Empty(c.tables); err != nil || empty != c.want {
			t.Errorf("%v: %v, %v", c.tables, empty, err)
		}
	}
}

func TestReportedSettingsStandBesideThoseAskedFor(t *testing.T) {
	s := answers(map[string]string{"fsync": "on"})
	s.Version, s.Lean, s.LossMax = "15", true, time.Second
	told := s.Tell("%s", []string{"fsync"})
	for name, want := range map[string]string{"version": "15", "driver.schema": "assay", "driver.client": "lean", "driver.loss_max": "1s", "fsync": "on"} {
		if told[name] != want {
			t.Errorf("%s is %q", name, told[name])
		}
	}
	if err := s.Foreign(); !strings.Contains(err.Error(), "option schema names another") {
		t.Error(err)
	}
}
