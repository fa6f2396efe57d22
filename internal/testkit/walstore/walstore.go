// Package walstore is a store that is a log of records and a map of them in memory, and drivers of
// it that each break one promise on purpose: what a crash test must find. The one without a flaw,
// [Honest], keeps them all.
package walstore

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"assay/store"
)

// Names of the drivers. All but Honest acknowledge writes that they do not keep.
const (
	Honest = "wal-honest"

	// Refuted by a power cut in class D3.
	NeverSyncs      = "wal-never-syncs"
	SyncsTenth      = "wal-syncs-each-tenth"
	SyncsBefore     = "wal-syncs-before-the-write"
	SyncsWrongFile  = "wal-syncs-the-wrong-file"
	SyncsNoContents = "wal-syncs-the-directory-alone"
	SyncsLate       = "wal-acknowledges-before-its-sync-ends"

	// Refuted by a kill in class D1.
	Buffers      = "wal-buffers"         // writes stay in the process
	TearsValues  = "wal-tears-values"    // a record is written in two parts, and recovery takes half of one
	Undeletes    = "wal-undeletes"       // recovery passes over deletes
	HalfBatches  = "wal-half-batches"    // a batch is written record by record
	LosesTwice   = "wal-loses-twice"     // recovery empties the log before it writes it anew
	WontOpen     = "wal-wont-open"       // recovery refuses a log that was not closed
	ShortScans   = "wal-short-scans"     // after a recovery, a scan leaves a record out
	ForgetsClose = "wal-forgets-a-close" // a close that is in order empties the log
	ShortIndex   = "wal-short-index"     // after a recovery, its index lacks a record
	StaleIndex   = "wal-stale-index"     // after a recovery, its index has a record by another's column in place of its own
	CountsWrong  = "wal-counts-wrong"    // after a recovery, it counts one record more than there are
	OpensSlowly  = "wal-opens-slowly"    // a recovery takes [SlowTime]

	// Refuted in class D3 by a power cut after an error.
	IgnoresSyncErrors  = "wal-ignores-sync-errors"
	SyncsAgain         = "wal-syncs-again"          // a sync that failed is tried once more, and believed
	WritesOn           = "wal-writes-behind-a-hole" // the log goes on behind a record that was written in part
	IgnoresShortWrites = "wal-ignores-short-writes"
)

// Flawed are the names of those that lose writes to a power cut, and to a kill.
var (
	FlawedAtPower = []string{NeverSyncs, SyncsTenth, SyncsBefore, SyncsWrongFile, SyncsNoContents, SyncsLate}
	FlawedAtKill  = []string{Buffers, TearsValues, Undeletes, HalfBatches, LosesTwice, WontOpen, ShortScans,
		ShortIndex, StaleIndex, CountsWrong}
	FlawedAtError = []string{IgnoresSyncErrors, SyncsAgain, WritesOn, IgnoresShortWrites}
)

// Drivers returns all of them.
func Drivers() (all []store.Driver) {
	for _, name := range slices.Concat([]string{Honest, ForgetsClose, OpensSlowly}, FlawedAtPower, FlawedAtKill,
		FlawedAtError) {
		all = append(all, driver(name))
	}
	return all
}

type driver string

func (d driver) Describe() store.Description {
	claims := []store.DurabilityClaim{{Class: store.D1, How: "write(2)"}, {Class: store.D3, How: "write(2), then fdatasync(2)"}}
	if d == NeverSyncs {
		claims = append(claims, store.DurabilityClaim{Class: store.D2, How: "write(2), and no sync within any time"})
	}
	return store.Description{
		Name: string(d), Summary: "a log of records for tests", Version: "1", Licence: "none", Kind: store.Embedded,
		Durability:       claims,
		HandlesShareable: true, BatchAtomic: true, Abilities: store.Probe((*db)(nil), (*handle)(nil)),
	}
}

// The log: of each record its check, its kind, the lengths of key and value, and these. A batch is
// its members within one record.
const (
	headBytes = 4 + 1 + 4 + 4
	kindPut   = 1
	kindDel   = 2
	kindBatch = 3
	kindClose = 4
)

type db struct {
	late      sync.WaitGroup // of SyncsLate: syncs that go on after their commit was acknowledged
	flaw      string
	sync      bool
	directory string

	mu        sync.Mutex
	log       *os.File
	other     *os.File // what the wrong file is
	buffer    bytes.Buffer
	records   map[string][]byte
	commits   int
	end       int64 // of the last record that is whole
	broken    error // the first failure, after which the log may lack anything; nil: none
	recovered bool
	queries   []store.Query // of records with columns

	syncing sync.Mutex
}

func (d driver) Open(_ context.Context, c store.Config) (store.Store, error) {
	s := &db{flaw: string(d), sync: c.Durability == store.D3, directory: c.Directory, records: map[string][]byte{}}
	name := filepath.Join(c.Directory, "log")
	text, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	if s.flaw == LosesTwice && len(text) > 0 {
		if err := os.Truncate(name, 0); err != nil {
			return nil, err
		}
		time.Sleep(recoveryTime)
		if err := os.WriteFile(name, text, 0o600); err != nil {
			return nil, err
		}
	}
	if s.flaw == OpensSlowly && len(text) > 0 && !bytes.HasSuffix(text, record(kindClose, nil, nil)) {
		time.Sleep(SlowTime)
	}
	whole, err := s.replay(text)
	if err != nil {
		return nil, err
	}
	if s.log, err = os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o600); err != nil {
		return nil, err
	}
	if s.other, err = os.OpenFile(filepath.Join(c.Directory, "other"), os.O_WRONLY|os.O_CREATE, 0o600); err != nil {
		return nil, err
	}
	err = s.log.Truncate(int64(whole))
	if _, seekErr := s.log.Seek(int64(whole), io.SeekStart); err == nil {
		err = seekErr
	}
	s.end = int64(whole)
	if err == nil && s.sync {
		err = cmp.Or(s.log.Sync(), syncDirectory(c.Directory))
	}
	return s, err
}

// recoveryTime is how long a recovery lasts that a second cut is to meet.
const recoveryTime = 30 * time.Millisecond

// SlowTime is how long a recovery of [OpensSlowly] lasts at least.
const SlowTime = 100 * time.Millisecond

func syncDirectory(path string) error {
	directory, err := os.Open(path)
	if err != nil {
		return err
	}
	defer directory.Close()
	return directory.Sync()
}

// replay reads the log up to its first record that is not whole, and returns where that begins.
func (s *db) replay(text []byte) (whole int, err error) {
	closed := record(kindClose, nil, nil)
	s.recovered = len(text) > 0 && !bytes.HasSuffix(text, closed)
	for len(text)-whole >= headBytes {
		head := text[whole:]
		key, value := int(binary.LittleEndian.Uint32(head[5:])), int(binary.LittleEndian.Uint32(head[9:]))
		end := headBytes + key + value
		if len(head) < end && s.flaw == TearsValues && len(head) > headBytes+key {
			head = slices.Concat(head, make([]byte, end-len(head))) // zeros in place of what is missing
		} else if len(head) < end || crc32.ChecksumIEEE(head[4:end]) != binary.LittleEndian.Uint32(head) {
			break
		}
		s.apply(head[4], head[headBytes:headBytes+key], head[headBytes+key:end])
		whole += end
	}
	if s.flaw == WontOpen && s.recovered {
		return 0, errors.New("the log was not closed")
	}
	return min(whole, len(text)), nil
}

func (s *db) apply(kind byte, key, value []byte) {
	switch kind {
	case kindPut:
		s.records[string(key)] = bytes.Clone(value)
	case kindDel:
		if s.flaw != Undeletes || !s.recovered {
			delete(s.records, string(key))
		}
	case kindBatch:
		for len(value) >= headBytes {
			k, v := int(binary.LittleEndian.Uint32(value[5:])), int(binary.LittleEndian.Uint32(value[9:]))
			s.apply(value[4], value[headBytes:headBytes+k], value[headBytes+k:headBytes+k+v])
			value = value[headBytes+k+v:]
		}
	}
}

func record(kind byte, key, value []byte) []byte {
	r := make([]byte, headBytes, headBytes+len(key)+len(value))
	r[4] = kind
	binary.LittleEndian.PutUint32(r[5:], uint32(len(key)))
	binary.LittleEndian.PutUint32(r[9:], uint32(len(value)))
	r = append(append(r, key...), value...)
	binary.LittleEndian.PutUint32(r, crc32.ChecksumIEEE(r[4:]))
	return r
}

// commit writes records as one commit, which is a record, or the parts of one.
func (s *db) commit(parts ...[]byte) error {
	if s.flaw == SyncsBefore && s.sync {
		if err := s.fdatasync(); err != nil {
			return err
		}
	}
	if err := s.write(parts); err != nil {
		return err
	}
	if !s.sync || s.flaw == SyncsBefore {
		return nil
	}
	s.mu.Lock()
	s.commits++
	tenth := s.commits%10 == 0
	s.mu.Unlock()
	switch s.flaw {
	case NeverSyncs:
		return nil
	case SyncsTenth:
		if !tenth {
			return nil
		}
	case SyncsWrongFile:
		if _, err := s.other.WriteAt([]byte{byte(s.commits)}, 0); err != nil {
			return err
		}
		return unix.Fdatasync(int(s.other.Fd()))
	case SyncsNoContents:
		return syncDirectory(s.directory)
	case SyncsLate:
		s.late.Go(func() { _ = s.fdatasync() })
		return nil
	}
	return s.fdatasync()
}

// fdatasync makes durable what was written. One that fails is the last: whether what was written before it
// is in the log, no later one tells. They go one by one, so that none is believed that came after it.
func (s *db) fdatasync() error {
	s.syncing.Lock()
	defer s.syncing.Unlock()
	s.mu.Lock()
	broken := s.broken
	s.mu.Unlock()
	if broken != nil {
		return broken
	}
	err := unix.Fdatasync(int(s.log.Fd()))
	switch {
	case err == nil, s.flaw == IgnoresSyncErrors:
		return nil
	case s.flaw == SyncsAgain:
		return unix.Fdatasync(int(s.log.Fd()))
	}
	s.mu.Lock()
	s.broken = err
	s.mu.Unlock()
	return err
}

// append writes a record to the log, or nothing.
func (s *db) append(part []byte) error {
	if s.flaw == IgnoresShortWrites {
		_, err := unix.Write(int(s.log.Fd()), part)
		return err
	}
	n, err := s.log.Write(part)
	switch {
	case err == nil:
		s.end += int64(n)
	case s.flaw == WritesOn:
	default:
		_, seekErr := s.log.Seek(s.end, io.SeekStart)
		s.broken = cmp.Or(s.log.Truncate(s.end), seekErr)
	}
	return err
}

func (s *db) write(parts [][]byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken != nil {
		return s.broken
	}
	for _, part := range parts {
		switch s.flaw {
		case Buffers:
			s.buffer.Write(part)
			if s.buffer.Len() < 4<<10 {
				break
			}
			if _, err := s.buffer.WriteTo(s.log); err != nil {
				return err
			}
		case TearsValues:
			half := len(part) - len(part)/4
			if _, err := s.log.Write(part[:half]); err != nil {
				return err
			}
			time.Sleep(time.Millisecond)
			if _, err := s.log.Write(part[half:]); err != nil {
				return err
			}
		default:
			if err := s.append(part); err != nil {
				return err
			}
			if len(parts) > 1 {
				time.Sleep(time.Millisecond) // a kill meets it between two
			}
		}
		s.apply(part[4], part[headBytes:headBytes+int(binary.LittleEndian.Uint32(part[5:]))],
			part[headBytes+int(binary.LittleEndian.Uint32(part[5:])):])
	}
	return nil
}

func (s *db) Handle() (store.Handle, error) { return &handle{s}, nil }

func (s *db) Settings() map[string]string { return map[string]string{"sync": fmt.Sprint(s.sync)} }

func (s *db) Close() error {
	s.late.Wait()
	if _, err := s.buffer.WriteTo(s.log); err != nil {
		return err
	}
	if s.flaw == ForgetsClose {
		return cmp.Or(s.log.Truncate(0), s.log.Close(), s.other.Close())
	}
	if _, err := s.log.Write(record(kindClose, nil, nil)); err != nil {
		return err
	}
	return cmp.Or(s.log.Sync(), s.log.Close(), s.other.Close())
}

type handle struct{ db *db }

func (h *handle) Get(key, _ []byte) ([]byte, error) {
	h.db.mu.Lock()
	defer h.db.mu.Unlock()
	if value, there := h.db.records[string(key)]; there {
		return value, nil
	}
	return nil, store.ErrNotFound
}

func (h *handle) Put(key, value []byte) error { return h.db.commit(record(kindPut, key, value)) }

func (h *handle) Delete(key []byte) error { return h.db.commit(record(kindDel, key, nil)) }

func (h *handle) Apply(writes []store.Write) error {
	var parts [][]byte
	for _, w := range writes {
		kind := byte(kindPut)
		if w.Delete {
			kind = kindDel
		}
		parts = append(parts, record(kind, w.Key, w.Value))
	}
	if h.db.flaw == HalfBatches {
		return h.db.commit(parts...)
	}
	return h.db.commit(record(kindBatch, nil, slices.Concat(parts...)))
}

func (h *handle) Scan(start []byte, _ int, visit func(key, value []byte) bool) error {
	h.db.mu.Lock()
	defer h.db.mu.Unlock()
	var keys []string
	for key := range h.db.records {
		if strings.Compare(key, string(start)) >= 0 {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	if h.db.flaw == ShortScans && h.db.recovered && len(keys) > 0 {
		keys = keys[1:]
	}
	for _, key := range keys {
		if !visit([]byte(key), h.db.records[key]) {
			break
		}
	}
	return nil
}

func (h *handle) Close() error { return nil }
