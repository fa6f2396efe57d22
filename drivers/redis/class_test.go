package redis

import (
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"assay/store"
)

func TestClassIsWhatTheSettingsGive(t *testing.T) {
	usual := map[string]string{
		"appendonly": "yes", "appendfsync": "always", "no-appendfsync-on-rewrite": "no", "maxmemory": "0", "maxmemory-policy": "noeviction",
	}
	for name, x := range map[string]struct {
		change map[string]string
		gives  store.Durability // "": none
		says   string
	}{
		"no log":                         {map[string]string{"appendonly": "no"}, store.D0, ""},
		"no log, whatever its policy":    {map[string]string{"appendonly": "no", "appendfsync": "always", "no-appendfsync-on-rewrite": "yes"}, store.D0, ""},
		"the kernel syncs":               {map[string]string{"appendfsync": "no"}, store.D1, ""},
		"the kernel syncs anyway":        {map[string]string{"appendfsync": "no", "no-appendfsync-on-rewrite": "yes"}, store.D1, ""},
		"every second":                   {map[string]string{"appendfsync": "everysec"}, store.D2, ""},
		"every second, but for rewrites": {map[string]string{"appendfsync": "everysec", "no-appendfsync-on-rewrite": "yes"}, "", "no-appendfsync-on-rewrite is yes"},
		"always":                         {nil, store.D3, ""},
		"always, but for rewrites":       {map[string]string{"no-appendfsync-on-rewrite": "yes"}, "", "no-appendfsync-on-rewrite is yes"},
		"an unknown policy":              {map[string]string{"appendfsync": "sometimes"}, "", `appendfsync is "sometimes"`},
		"a log that is not told":         {map[string]string{"appendonly": ""}, "", `appendonly is ""`},
		"rewrites that are not told":     {map[string]string{"no-appendfsync-on-rewrite": ""}, "", "no-appendfsync-on-rewrite"},
		"a limit that removes nothing":   {map[string]string{"maxmemory": "1000"}, store.D3, ""},
		"a limit for what expires":       {map[string]string{"maxmemory": "1000", "maxmemory-policy": "volatile-lru"}, store.D3, ""},
		"a policy without a limit":       {map[string]string{"maxmemory-policy": "allkeys-lru"}, store.D3, ""},
		"a limit that removes records":   {map[string]string{"maxmemory": "1000", "maxmemory-policy": "allkeys-lru"}, "", "allkeys-lru removes acknowledged records"},
		"a limit that is not told":       {map[string]string{"maxmemory": "", "maxmemory-policy": "allkeys-lfu"}, "", "allkeys-lfu removes"},
	} {
		t.Run(name, func(t *testing.T) {
			config := maps.Clone(usual)
			maps.Copy(config, x.change)
			for class := range wanted {
				err := refuseClass("h:1", config, class, time.Minute)
				switch {
				case class == x.gives && err != nil:
					t.Errorf("%s is refused: %v", class, err)
				case class != x.gives && !errors.Is(err, store.ErrRefused):
					t.Errorf("%s: expected a refusal, got %v", class, err)
				case class == store.D3 && x.says != "" && !strings.Contains(err.Error(), x.says):
					t.Errorf("%s: %q does not say %q", class, err, x.says)
				}
			}
		})
	}
}

// What a refusal tells a user to set gives the class.
func TestSettingsOfARefusalGiveTheClass(t *testing.T) {
	for class, line := range wanted {
		config := map[string]string{"maxmemory": "0", "appendfsync": "everysec", "no-appendfsync-on-rewrite": "yes"}
		words := strings.Fields(line)
		for i := 0; i < len(words); i += 2 {
			config[strings.TrimPrefix(words[i], "--")] = words[i+1]
		}
		if err := refuseClass("h:1", config, class, time.Minute); err != nil {
			t.Error(err)
		}
	}
}

func TestWindowShorterThanASyncTakesIsRefused(t *testing.T) {
	config := map[string]string{"appendonly": "yes", "appendfsync": "everysec", "no-appendfsync-on-rewrite": "no", "maxmemory": "0"}
	if err := refuseClass("h:1", config, store.D2, everySecondLoss-1); !errors.Is(err, store.ErrRefused) || !strings.Contains(err.Error(), "D2(3s)") {
		t.Errorf("below: %v", err)
	}
	if err := refuseClass("h:1", config, store.D2, everySecondLoss); err != nil {
		t.Error(err)
	}
}
