package memcached

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"assay/drivers/internal/wire"
	"assay/store"
)

// spread is a connection to each of several servers, of which a key has one.
type spread struct {
	servers      []*handle // in the order of the endpoints
	distribution distribution
	parts        []multiPart // of a multi-get: those of each server, reused
}

// multiPart are the keys of a multi-get that one server has.
type multiPart struct {
	keys, values [][]byte
	positions    []int // of the keys in the multi-get
	asked        bool
}

// MultiGet asks each server for its keys, and then reads all answers.
func (s *spread) MultiGet(keys, values [][]byte, buf []byte) (calls int, err error) {
	if s.parts == nil {
		s.parts = make([]multiPart, len(s.servers))
	}
	for i := range s.parts {
		p := &s.parts[i]
		p.keys, p.values, p.positions, p.asked = p.keys[:0], p.values[:0], p.positions[:0], false
	}
	for i, key := range keys {
		p := &s.parts[s.distribution.pick(key)]
		p.keys, p.values, p.positions = append(p.keys, key), append(p.values, nil), append(p.positions, i)
	}
	var failed error
	for i := range s.parts {
		if p := &s.parts[i]; len(p.keys) > 0 {
			err := s.servers[i].askMany(p.keys)
			failed, p.asked = errors.Join(failed, err), err == nil
			calls++
		}
	}
	for i := range s.parts {
		p := &s.parts[i]
		if p.asked {
			buf, err = s.servers[i].protocol.readMany(&s.servers[i].connection, p.keys, p.values, buf)
			failed = errors.Join(failed, err)
		}
		for at, position := range p.positions {
			values[position] = p.values[at]
		}
		clear(p.keys) // the caller's bytes are not kept
		clear(p.values)
	}
	return calls, failed
}

func (s *spread) of(key []byte) *handle { return s.servers[s.distribution.pick(key)] }

func (s *spread) Get(key, buf []byte) ([]byte, error) { return s.of(key).Get(key, buf) }
func (s *spread) Put(key, value []byte) error         { return s.of(key).Put(key, value) }
func (s *spread) Add(key, value []byte) error         { return s.of(key).Add(key, value) }
func (s *spread) PutFor(key, value []byte, ttl time.Duration) error {
	return s.of(key).PutFor(key, value, ttl)
}
func (s *spread) Touch(key []byte, ttl time.Duration) error { return s.of(key).Touch(key, ttl) }
func (s *spread) Append(key, part []byte) error             { return s.of(key).Append(key, part) }
func (s *spread) Delete(key []byte) error                   { return s.of(key).Delete(key) }
func (s *spread) CompareAndSwap(key, old, value []byte) error {
	return s.of(key).CompareAndSwap(key, old, value)
}

func (s *spread) Close() error {
	var failed error
	for _, h := range s.servers {
		failed = errors.Join(failed, h.Close())
	}
	return failed
}

// member is one of the servers of an open store. Its connection is for statistics, so that a look
// at them waits for no operation, and no operation for it.
type member struct {
	endpoint string
	weight   int
	control  connection
	version  string
	held     uint64 // items when it was opened
	heldTold bool
}

// open learns the version and the number of items.
func (m *member) open() (err error) {
	if m.version, err = m.control.version(); err != nil {
		return err
	}
	// A server that does not tell is none that can't be opened.
	_ = m.control.stats("", func(name, value string) {
		if name != "curr_items" {
			return
		}
		items, err := strconv.ParseUint(value, 10, 64)
		m.held, m.heldTold = items, err == nil
	})
	return nil
}

// settings are what the server's `stats settings` reports. What it does not report is left out.
func (m *member) settings() map[string]string {
	settings := map[string]string{"version": m.version}
	_ = m.control.stats("settings", func(name, value string) { settings[name] = value })
	return settings
}

// withoutMeaning are numbers of `stats` that say nothing of the store.
var withoutMeaning = map[string]bool{"pid": true, "time": true, "pointer_size": true}

// stats are the numbers of `stats` under the server's own names; nil: it did not report them.
func (m *member) stats() map[string]float64 {
	stats := make(map[string]float64)
	err := m.control.stats("", func(name, value string) {
		if name == "curr_connections" { // with the sockets that it listens at
			name = "connections"
		}
		if number, err := strconv.ParseFloat(value, 64); err == nil && !withoutMeaning[name] {
			stats[name] = number
		}
	})
	if err != nil {
		return nil
	}
	for _, name := range evicting {
		stats[store.RecordsEvicted] += stats[name]
	}
	stats[store.RecordsExpired] = stats["expired_unfetched"]
	return stats
}

// evicting count records that the server removed: for a new one, because they expired, and while it
// moved their page to another class of sizes.
var evicting = []string{"evictions", "expired_unfetched", "slab_reassign_evictions_nomem", "slab_reassign_busy_deletes"}

// operationCounters add up to the operations that a server got: add and cas count as cmd_set, and
// meta commands as what they do.
var operationCounters = []string{"cmd_get", "cmd_set", "cmd_touch", "delete_hits", "delete_misses"}

// ofOneServer are numbers that have no sum.
var ofOneServer = map[string]bool{"uptime": true, "hash_power_level": true}

// statsOfAll adds the servers' numbers up, and tells of each server what shows its share; nil: a
// server did not report its numbers, and a sum of some is none.
func statsOfAll(members []*member) map[string]float64 {
	sum, each := make(map[string]float64), make(map[string]float64)
	for i, m := range members {
		stats := m.stats()
		if stats == nil {
			return nil
		}
		operations := 0.0
		for _, name := range operationCounters {
			operations += stats[name]
		}
		each[store.ServerStat(i, store.ServerOperations)] = operations
		each[store.ServerStat(i, store.ServerWeight)] = float64(m.weight)
		each[store.ServerStat(i, "items")] = stats["curr_items"]
		for name, value := range stats {
			if !ofOneServer[name] {
				sum[name] += value
			}
		}
	}
	for name, value := range each {
		sum[name] = value
	}
	return sum
}

// busy is the server's moving of slabs and growing of its hash table.
func busy(stats map[string]float64) bool {
	return stats["slab_reassign_running"] > 0 || stats["hash_is_expanding"] > 0
}

// settingsOfAll returns once what all servers report alike, and otherwise each server's own.
func settingsOfAll(members []*member) map[string]string {
	settings := members[0].settings()
	for i, m := range members[1:] {
		for name, value := range m.settings() {
			if first, told := settings[name]; !told || first != value {
				settings[store.ServerStat(i+1, name)] = value
			}
		}
	}
	return settings
}

// sharesText writes each server's part of all keys, by calculation.
func sharesText(d distribution) string {
	var parts []string
	for _, share := range d.shares() {
		parts = append(parts, strconv.FormatFloat(math.Round(share*1000)/10, 'f', -1, 64)+" %")
	}
	return strings.Join(parts, ", ")
}

func weightsText(members []*member) string {
	var parts []string
	for _, m := range members {
		parts = append(parts, strconv.Itoa(m.weight))
	}
	return strings.Join(parts, ",")
}

// newMembers connects to nothing yet.
func newMembers(
	endpoints []string, weights []int, timeout time.Duration, access wire.Access, p protocol,
) ([]*member, error) {
	var members []*member
	for i, endpoint := range endpoints {
		if slices.Contains(endpoints[:i], endpoint) {
			return nil, fmt.Errorf("memcached: %s is named twice: a server's part is its weight: %w",
				endpoint, store.ErrRefused)
		}
		m := &member{endpoint: endpoint, weight: weights[i], control: newConnection(endpoint, timeout, access, p)}
		m.control.Bound = wire.ExpectsNoValue()
		if m.control.Greet != nil {
			m.control.Greet = func(c *wire.Connection) error {
				if err := p.demandsLogin(c); err != nil {
					return err
				}
				return p.login(c)
			}
		}
		members = append(members, m)
	}
	return members, nil
}
