package redis

import "testing"

// A server that keeps all it is given is no cache: it has no count of evictions, and no hit ratio.
func TestOnlyCachesCountEvictions(t *testing.T) {
	for text, want := range map[string]bool{
		"maxmemory:0\r\nmaxmemory_policy:allkeys-lru\r\n":       false,
		"maxmemory:8388608\r\nmaxmemory_policy:noeviction\r\n":  false,
		"maxmemory:8388608\r\nmaxmemory_policy:allkeys-lru\r\n": true,
		"redis_version:2.6\r\n":                                 false,
	} {
		if got := mayEvict(parseInfo(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
