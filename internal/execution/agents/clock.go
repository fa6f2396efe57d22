package agents

import "sync"

// sight is one look at an agent's clock: it said AtNS between two moments of the conductor's.
type sight struct{ sentNS, atNS, gotNS int64 }

// sightsMax bounds what is kept: a quarter of an hour.
const sightsMax = 4096

// driftMax bounds by how much two machines' CLOCK_MONOTONIC go apart meanwhile: what NTP may slew one
// by is 500 parts in a million, and what it does to a clock that is kept in time is a part of one.
const driftMax = 100e-6

// clocks are how far an agent's clock is from the conductor's.
type clocks struct {
	mu     sync.Mutex
	sights []sight
	next   int
}

func (c *clocks) saw(s sight) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.sights) < sightsMax {
		c.sights = append(c.sights, s)
		return
	}
	c.sights[c.next] = s
	c.next = (c.next + 1) % sightsMax
}

// offset returns by how much the agent's clock is ahead of the conductor's at a moment of the agent's,
// and by how much that may be wrong: half the round trip of the sight that tells best, and what the
// clocks may have drifted since. known is false before the first sight.
//
// A round trip bounds the error whatever the two ways take; that of the least is nearest, as in NTP's
// clock filter.
func (c *clocks) offset(agentNS int64) (offsetNS, errorNS int64, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.sights {
		away := agentNS - s.atNS
		if away < 0 {
			away = -away
		}
		within := (s.gotNS-s.sentNS)/2 + int64(float64(away)*driftMax)
		if !known || within < errorNS {
			offsetNS, errorNS, known = s.atNS-(s.sentNS+(s.gotNS-s.sentNS)/2), within, true
		}
	}
	return offsetNS, errorNS, known
}

// toAgent translates a moment of the conductor's clock, toConductor one of the agent's.
func (c *clocks) toAgent(conductorNS int64) int64 {
	guess, _, _ := c.offset(c.last())
	offset, _, _ := c.offset(conductorNS + guess)
	return conductorNS + offset
}

func (c *clocks) toConductor(agentNS int64) (ns, errorNS int64) {
	offset, errorNS, _ := c.offset(agentNS)
	return agentNS - offset, errorNS
}

// last is the agent's time at the newest sight.
func (c *clocks) last() (ns int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.sights {
		ns = max(ns, s.atNS)
	}
	return ns
}
