package counters

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"assay/internal/experiment/trace"
)

func TestHistoryVectors(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "vectors", "history.json"))
	if err != nil {
		t.Fatal(err)
	}
	var list []struct {
		RecordsEach int `json:"records_each"`
		Threads     []struct {
			Dropped uint64
			Records []struct {
				BeginNS  uint64 `json:"begin_ns"`
				EndNS    uint64 `json:"end_ns"`
				Sequence uint64
				Outcome  Outcome
				Read     string
			}
		}
		ThreadOffsets []int `json:"thread_offsets"`
		Bytes         int
		File          map[string]string
		SHA256        string
	}
	if err := json.Unmarshal(data, &list); err != nil || len(list) == 0 {
		t.Fatalf("%d vectors (%v)", len(list), err)
	}
	for number, v := range list {
		name := filepath.Join(t.TempDir(), "history")
		h := createHistory(t, name, len(v.Threads), v.RecordsEach)
		for i, thread := range v.Threads {
			head, room := h.Thread(i)
			for j, r := range thread.Records {
				read, err := strconv.ParseUint(r.Read, 16, 64)
				if err != nil {
					t.Fatal(err)
				}
				room[j] = MakeRecorded(r.BeginNS, r.EndNS, r.Sequence, r.Outcome, read)
				if room[j].Sequence() != r.Sequence || room[j].Outcome() != r.Outcome {
					t.Errorf("record %d: sequence %d, outcome %v come back", j, room[j].Sequence(), room[j].Outcome())
				}
			}
			head.Count, head.Dropped = uint64(len(thread.Records)), thread.Dropped
			if records, dropped := h.Records(i); len(records) != len(thread.Records) || dropped != thread.Dropped {
				t.Errorf("%d records and %d dropped come back", len(records), dropped)
			}
		}
		want := make([]byte, v.Bytes)
		for at, block := range v.File {
			offset, _ := strconv.Atoi(at)
			if _, err := hex.Decode(want[offset:], []byte(block)); err != nil {
				t.Fatal(err)
			}
		}
		if digest := sha256.Sum256(want); hex.EncodeToString(digest[:]) != v.SHA256 {
			t.Fatalf("vector %d contradicts itself", number)
		}
		if !bytes.Equal(h.data, want) {
			t.Errorf("vector %d is written differently", number)
		}
		tr := traceOf(len(v.Threads), []trace.Operation{trace.Read}, trace.FlagHistory)
		if again, err := OpenHistory(name, tr); err != nil {
			t.Error(err)
		} else if err := again.Unmap(); err != nil {
			t.Error(err)
		}
		if err := h.Unmap(); err != nil {
			t.Error(err)
		}
	}
}

func createHistory(t *testing.T, name string, threads, recordsEach int) *History {
	t.Helper()
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	h, err := CreateHistory(file, threads, recordsEach)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestBrokenHistoriesAreRefused(t *testing.T) {
	tr := traceOf(2, []trace.Operation{trace.Read}, trace.FlagHistory)
	for says, change := range map[string]func([]byte) []byte{
		"begin with":     func(b []byte) []byte { b[0]++; return b },
		"format version": func(b []byte) []byte { b[8] = 1; return b },
		"header bytes":   func(b []byte) []byte { b[12]++; return b },
		"threads is 3":   func(b []byte) []byte { b[16] = 3; return b },
		"record bytes":   func(b []byte) []byte { b[20]++; return b },
		"room for 9":     func(b []byte) []byte { b[24]++; return b },
		"expected 4864":  func(b []byte) []byte { return b[:len(b)-32] },
		"has 4864 bytes": func(b []byte) []byte { b[33]++; return b },
		"too short":      func(b []byte) []byte { return b[:100] },
	} {
		name := filepath.Join(t.TempDir(), "history")
		h := createHistory(t, name, 2, 5)
		changed := change(bytes.Clone(h.data))
		if err := os.WriteFile(name, changed, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenHistory(name, tr); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("want an error that says %q, got %v", says, err)
		}
	}
}
