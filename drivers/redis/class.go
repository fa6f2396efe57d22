package redis

import (
	"fmt"
	"strings"
	"time"

	"assay/store"
)

// The classes follow flushAppendOnlyFile in src/aof.c of Redis 7.0, which runs before each event
// loop sends its replies:
//
//   - always: write(2) and fdatasync(2), and only then the replies.
//   - no: write(2), and only then the replies. The kernel syncs when it likes.
// - everysec: a thread syncs once a second, and while it does the write(2) itself is put off for up
// to 2 s, replies or
// not: aof_delayed_fsync counts when that was not enough. So a kill can lose what was acknowledged,
// which makes it no
//     D1, and a power cut loses what came in the second before the sync and during it.
//
// no-appendfsync-on-rewrite leaves the sync out while the log is rewritten or a snapshot is
// written.

// everySecondLoss is the second between two syncs and the 2 s that one may take before
// aof_delayed_fsync counts it.
const everySecondLoss = 3 * time.Second

// wanted are the settings that give a class, as a command line has them.
var wanted = map[store.Durability]string{
	store.D0: "--appendonly no",
	store.D1: "--appendonly yes --appendfsync no",
	store.D2: "--appendonly yes --appendfsync everysec --no-appendfsync-on-rewrite no",
	store.D3: "--appendonly yes --appendfsync always --no-appendfsync-on-rewrite no",
}

// given returns the class that a server's settings give, or why they give none.
func given(config map[string]string) (class store.Durability, why string) {
	switch policy := config["appendfsync"]; {
	case config["appendonly"] == "no":
		return store.D0, ""
	case config["appendonly"] != "yes":
		return "", fmt.Sprintf("its appendonly is %q", config["appendonly"])
	case policy == "no":
		return store.D1, ""
	case policy != "everysec" && policy != "always":
		return "", fmt.Sprintf("its appendfsync is %q", policy)
	case config["no-appendfsync-on-rewrite"] != "no":
		return "", "its no-appendfsync-on-rewrite is yes: it does not sync while it rewrites its log"
	case policy == "everysec":
		return store.D2, ""
	default:
		return store.D3, ""
	}
}

// evicts reports whether the server removes records to stay below its limit. volatile-… removes
// none of these, for they have no expiry.
func evicts(config map[string]string) bool {
	return config["maxmemory"] != "0" && strings.HasPrefix(config["maxmemory-policy"], "allkeys-")
}

// TellDurability holds the settings of now against the class.
func (d *db) TellDurability() (store.DurabilityEvidence, error) {
	for _, m := range d.members {
		config, err := m.config()
		if err == nil {
			err = refuseClass(m.endpoint, config, d.class, d.window)
		}
		if err != nil {
			return store.Evidence(err)
		}
	}
	return store.DurabilityEvidence{}, nil
}

// refuseClass says why a server with these settings can't give a class, and what would.
func refuseClass(endpoint string, config map[string]string, class store.Durability, window time.Duration) error {
	is, why := given(config)
	switch {
	case why == "" && is != class:
		why = "its settings give " + string(is)
	case why == "" && class == store.D2 && window < everySecondLoss:
		return fmt.Errorf("redis can't reach D2(%v): appendfsync everysec may lose what came in the second before a sync and in the 2 s "+
			"that one may take: expected D2(%v) or more: %w", window, everySecondLoss, store.ErrRefused)
	case why == "" && class != store.D0 && evicts(config):
		return fmt.Errorf("redis at %s can't reach %s: its maxmemory-policy %s removes acknowledged records; --maxmemory-policy noeviction "+
			"does not: %w", endpoint, class, config["maxmemory-policy"], store.ErrRefused)
	case why == "":
		return nil
	}
	return fmt.Errorf("redis at %s can't reach %s: %s; %s would: %w", endpoint, class, why, wanted[class], store.ErrRefused)
}
