package experiment

import (
	"fmt"
	"slices"
	"strings"
)

// Expiring are the drivers whose stores remove values by themselves when their time is over, for who has
// named another one.
const Expiring = "badger, cassandra, etcd, memcached, memory, mongodb, nats and redis"

// HasTTL reports whether the phase, or one of its groups, writes values with a TTL.
func (p Phase) HasTTL() bool {
	return slices.ContainsFunc(p.Parts(), func(part Phase) bool {
		return slices.ContainsFunc(part.TTL, func(t TTL) bool { return t.Life > 0 })
	})
}

// ExpiresBy reports whether a phase up to a position writes values with a TTL.
func (e *Experiment) ExpiresBy(position int) bool {
	return slices.ContainsFunc(e.Phases[:min(position+1, len(e.Phases))], Phase.HasTTL)
}

// TTLText is a part's TTL as it stands in files and reports: "30s", "30s 90 %, none 10 %"; "": it has none.
func (p Phase) TTLText() string {
	sum := 0.0
	for _, t := range p.TTL {
		sum += t.Weight
	}
	var parts []string
	for _, t := range p.TTL {
		text := "none"
		if t.Life > 0 {
			text = t.Life.String()
		}
		if len(p.TTL) > 1 {
			text += fmt.Sprintf(" %.3g %%", t.Weight/sum*100)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// refuseTTL says why a store can't keep the times of a part's values.
func refuseTTL(s Store, p Phase) *Refusal {
	field, remedy := "phases."+p.Name+".ttl", ""
	if p.Replay != nil {
		field, remedy = "phases."+p.Name+".replay", "; replay: {ttl: none} leaves recorded TTLs out"
	}
	for _, t := range p.TTL {
		if t.Life == 0 {
			continue
		}
		if d := s.Description; !d.Abilities.Expire || d.Expiry == nil {
			return &Refusal{field, fmt.Sprintf("%s can't remove values after a time (phase %s): %s can%s", s.Name, p.Name, Expiring, remedy)}
		}
		if why := s.Description.Expiry.Refuse(t.Life); why != "" {
			return &Refusal{field, fmt.Sprintf("%s can't keep a TTL (phase %s): %s%s", s.Name, p.Name, why, remedy)}
		}
	}
	return nil
}
