package memcached

import (
	"cmp"
	"crypto/md5"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"

	"assay/store"
)

// The ways to spread keys over servers.
const (
	hashModulo = "modulo"
	hashKetama = "ketama"
)

// distribution says which server has a key. It is not changed after it was made, so that all
// handles share it.
type distribution interface {
	// pick returns the server's position in the order of the endpoints.
	pick(key []byte) int
	// shares returns each server's part of all possible keys; their sum is 1.
	shares() []float64
}

func newDistribution(hashing string, endpoints []string, weights []int) (distribution, error) {
	if hashing == hashModulo {
		return newModulo(weights), nil
	}
	return newKetama(endpoints, weights)
}

// weightMax bounds the slots of modulo.
const weightMax = 1000

// parseWeights reads a weight for each endpoint, "3,1,1"; "" is 1 for each.
func parseWeights(text string, endpoints int) ([]int, error) {
	if text == "" {
		return slices.Repeat([]int{1}, endpoints), nil
	}
	parts := strings.Split(text, ",")
	if len(parts) != endpoints {
		return nil, fmt.Errorf("memcached: weights has %d numbers for %d endpoints, expected one for each: %w",
			len(parts), endpoints, store.ErrRefused)
	}
	weights := make([]int, endpoints)
	for i, part := range parts {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || n < 1 || n > weightMax {
			return nil, fmt.Errorf("memcached: weights: expected whole numbers from 1 to %d, got %q: %w",
				weightMax, part, store.ErrRefused)
		}
		weights[i] = n
	}
	return weights, nil
}

// modulo has a slot for each unit of weight, in the order of the endpoints. With weights of 1 it is
// what gomemcache's ServerList does; a server that is listed there several times has that weight.
type modulo struct {
	slots   []int // the servers' positions
	weights []int
}

func newModulo(weights []int) *modulo {
	m := &modulo{weights: weights}
	for server, weight := range weights {
		m.slots = append(m.slots, slices.Repeat([]int{server}, weight)...)
	}
	return m
}

func (m *modulo) pick(key []byte) int {
	return m.slots[crc32.ChecksumIEEE(key)%uint32(len(m.slots))]
}

func (m *modulo) shares() []float64 {
	shares := make([]float64, len(m.weights))
	for server, weight := range m.weights {
		shares[server] = float64(weight) / float64(len(m.slots))
	}
	return shares
}

// ketama is consistent hashing on a circle of 2^32 places, as libmemcached does it with
// MEMCACHED_BEHAVIOR_KETAMA_WEIGHTED (update_continuum of its hosts.cc), and spymemcached with
// KetamaNodeKeyFormatter.Format.LIBMEMCACHED: a key belongs to the first point at its hash or after
// it.
type ketama struct {
	points  []point // in ascending order
	servers int
}

// point is a place on the circle and its server's position.
type point struct {
	at     uint32
	server int32
}

// An MD5 sum gives four points.
const (
	pointsPerServer = 160 // of average weight
	pointsPerSum    = 4
	defaultPort     = "11211" // left out of a server's name
)

func newKetama(endpoints []string, weights []int) (*ketama, error) {
	total := 0
	for _, weight := range weights {
		total += weight
	}
	k := &ketama{servers: len(endpoints)}
	for server, endpoint := range endpoints {
		name, err := nameOf(endpoint)
		if err != nil {
			return nil, err
		}
		for n := range sumsOf(weights[server], total, len(weights)) {
			sum := md5.Sum(fmt.Appendf(nil, "%s-%d", name, n))
			for part := range pointsPerSum {
				k.points = append(k.points, point{binary.LittleEndian.Uint32(sum[4*part:]), int32(server)})
			}
		}
	}
	for server := range endpoints {
		if !slices.ContainsFunc(k.points, func(p point) bool { return p.server == int32(server) }) {
			return nil, fmt.Errorf("memcached: the weight of %s is too small for ketama, which would give it no key: %w",
				endpoints[server], store.ErrRefused)
		}
	}
	slices.SortStableFunc(k.points, func(a, b point) int { return cmp.Compare(a.at, b.at) })
	return k, nil
}

// nameOf is a server's name on the circle: its endpoint, without the port where that is the default one.
func nameOf(endpoint string) (string, error) {
	if store.Network(endpoint) == "unix" {
		return endpoint, nil
	}
	host, port, err := net.SplitHostPort(endpoint)
	if err != nil {
		return "", fmt.Errorf("memcached: endpoint %q: %w: %w", endpoint, err, store.ErrRefused)
	}
	if port == defaultPort {
		return host, nil
	}
	return host + ":" + port, nil
}

// sumsOf returns how many MD5 sums a server gets. It rounds as the C code does, in single
// precision.
func sumsOf(weight, total, servers int) int {
	part := float32(weight) / float32(total)
	sums := float32(part*pointsPerServer) / pointsPerSum
	sums *= float32(servers)
	return int(math.Floor(float64(float32(float64(sums) + 1e-10))))
}

func (k *ketama) pick(key []byte) int {
	sum := md5.Sum(key)
	hash := binary.LittleEndian.Uint32(sum[:])
	low, high := 0, len(k.points)
	for low < high {
		if middle := int(uint(low+high) >> 1); k.points[middle].at < hash {
			low = middle + 1
		} else {
			high = middle
		}
	}
	if low == len(k.points) {
		low = 0
	}
	return int(k.points[low].server)
}

func (k *ketama) shares() []float64 {
	shares := make([]float64, k.servers)
	before := k.points[len(k.points)-1].at
	for _, p := range k.points {
		shares[p.server] += float64(p.at-before) / (1 << 32) // the difference wraps around as the circle does
		before = p.at
	}
	return shares
}
