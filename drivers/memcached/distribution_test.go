package memcached

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"assay/store"
)

// The servers of the vectors: two ports, of which one is left out of a server's name, and weights
// that do not divide the points evenly.
var (
	vectorEndpoints = []string{"127.0.0.1:11211", "127.0.0.1:11212", "cache-3.example:11211"}
	vectorWeights   = []int{1, 3, 2}
)

func distributionOf(t *testing.T, hashing string, endpoints []string, weights []int) distribution {
	t.Helper()
	d, err := newDistribution(hashing, endpoints, weights)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// The vectors were computed by a program in Python, from hashlib and zlib alone. Its ketama agrees
// with all 99 keys of libmemcached's own test of eight weighted servers.
func TestDistributionVectors(t *testing.T) {
	for hashing, want := range map[string][]int{
		hashKetama: {1, 1, 2, 2, 0, 0, 0, 1},
		hashModulo: {1, 0, 2, 0, 1, 1, 1, 1},
	} {
		d := distributionOf(t, hashing, vectorEndpoints, vectorWeights)
		var got []int
		for _, key := range []string{"a", "user:1", "user:2", "user:3", "user00000000000000000001", "session-42", "zzzz", strings.Repeat("k", 250)} {
			got = append(got, d.pick([]byte(key)))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: the keys are at servers %v, expected %v", hashing, got, want)
		}
	}
}

// The numbers of points and the ends of the circle are the Python program's, too: the rounding of
// weights, and the key that libmemcached tests the wrap-around with.
func TestKetamaPoints(t *testing.T) {
	var endpoints []string
	for i := range 8 {
		endpoints = append(endpoints, fmt.Sprintf("10.0.1.%d:11211", i+1))
	}
	k, err := newKetama(endpoints, []int{600, 300, 200, 350, 1000, 800, 950, 100})
	if err != nil {
		t.Fatal(err)
	}
	points := make([]int, len(endpoints))
	for _, p := range k.points {
		points[p.server]++
	}
	if want := []int{176, 88, 56, 104, 296, 236, 280, 28}; !slices.Equal(points, want) {
		t.Errorf("points: %v, expected %v", points, want)
	}
	first, last := k.points[0], k.points[len(k.points)-1]
	if first != (point{2148620, 2}) || last != (point{4294696831, 6}) {
		t.Errorf("the circle begins at %v and ends at %v", first, last)
	}
	if server := k.pick([]byte("VDEAAAAA")); server != 2 { // its hash is behind the last point
		t.Errorf("a key behind the last point is at server %d, expected that of the first one", server)
	}
}

func TestSharesAreThoseOfTheKeys(t *testing.T) {
	for hashing, want := range map[string][]float64{
		hashKetama: {0.156253, 0.495653, 0.348094},
		hashModulo: {1. / 6, 3. / 6, 2. / 6},
	} {
		d := distributionOf(t, hashing, vectorEndpoints, vectorWeights)
		const keys = 100_000
		found := make([]float64, len(vectorEndpoints))
		for i := range keys {
			found[d.pick(fmt.Appendf(nil, "key-%d", i))] += 1. / keys
		}
		for server, share := range d.shares() {
			if math.Abs(share-want[server]) > 1e-6 || math.Abs(found[server]-share) > 0.01 {
				t.Errorf("%s: server %d has %.6f of the keys by calculation and %.4f of %d, expected %.6f", hashing, server, share, found[server], keys, want[server])
			}
		}
	}
}

// A server that is taken away moves its own keys only; modulo moves most.
func TestKetamaMovesFewKeys(t *testing.T) {
	moved := map[string]float64{}
	for _, hashing := range []string{hashKetama, hashModulo} {
		all := distributionOf(t, hashing, vectorEndpoints, []int{1, 1, 1})
		fewer := distributionOf(t, hashing, vectorEndpoints[:2], []int{1, 1})
		const keys = 10_000
		for i := range keys {
			key := fmt.Appendf(nil, "key-%d", i)
			if before := all.pick(key); before != 2 && before != fewer.pick(key) {
				moved[hashing] += 1. / keys
			}
		}
	}
	if moved[hashKetama] != 0 || moved[hashModulo] < 0.25 {
		t.Errorf("of the keys that were at a server that stays, moved: %v", moved)
	}
}

func TestPickDoesNotAllocate(t *testing.T) {
	key := []byte("user00000000000000000001")
	for _, hashing := range []string{hashKetama, hashModulo} {
		d := distributionOf(t, hashing, vectorEndpoints, vectorWeights)
		if n := testing.AllocsPerRun(100, func() { d.pick(key) }); n != 0 {
			t.Errorf("%s: %v allocations", hashing, n)
		}
	}
}

func TestWeights(t *testing.T) {
	for text, want := range map[string][]int{"": {1, 1, 1}, "3,1,1": {3, 1, 1}, " 1, 20 ,1000": {1, 20, 1000}} {
		if got, err := parseWeights(text, 3); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"1", "1,1", "1,1,1,1", "1,1,0", "1,1,-1", "1,1,1.5", "1,1,", "1,1,1001", "1,1,x"} {
		if got, err := parseWeights(text, 3); !errors.Is(err, store.ErrRefused) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	if _, err := newKetama([]string{"a:1", "b:2"}, []int{1, 1000}); !errors.Is(err, store.ErrRefused) {
		t.Errorf("a server without a point: %v", err)
	}
}
