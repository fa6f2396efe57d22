package record

import (
	"time"

	"assay/internal/base/finding"
)

// A sync that a write waits for begins and ends within that write. A client has one write under
// way, so that its writes wait for different syncs, and one sync covers one write of each client at
// most, however a store groups its commits: writes ≤ clients × syncs. The spare is for what begins
// before the phase or ends after it. The disk counts flushes of other programs too: the bound
// accuses no store falsely, and hides missing syncs up to their number.
const (
	syncsSpare = 16
	callsSpare = 1 // of the store's processes alone: each sync that a write of the phase waits for begins in the phase
	// floorSlack is by how much a sync may be faster than the fastest that was timed.
	floorSlack = 2
)

// durabilityMarks returns marks for what shows that writes were acknowledged in a class that they did not
// have: settings, and fewer syncs, or faster ones, than the writes need.
func (p *Phase) durabilityMarks() (marks []finding.Mark) {
	s := p.Syncs
	if s == nil {
		return nil
	}
	mark := func(of finding.Parameters) { marks = append(marks, p.mark(of)) }
	needed := func(most uint64) finding.SyncsNeeded {
		return finding.SyncsNeeded{Acknowledged: s.Acknowledged, Least: s.Least, Most: most, Clients: s.Clients}
	}
	if s.Broken != "" {
		mark(finding.MarkClassChangedParams{Message: s.Broken})
	}
	most := func(syncs uint64) uint64 { return uint64(s.Clients) * (syncs + syncsSpare) }
	if s.Done != nil && s.Acknowledged > most(*s.Done) {
		mark(finding.MarkTooFewSyncsParams{SyncsNeeded: needed(most(*s.Done)), Done: *s.Done, Counted: s.Counted,
			Disk: s.Disk})
	}
	if s.Calls != nil {
		if m := uint64(s.Clients) * (*s.Calls + callsSpare); s.Acknowledged > m {
			mark(finding.MarkTooFewSyncsParams{SyncsNeeded: needed(m), Done: *s.Calls, Counted: "syncs", Disk: "the store's own processes"})
		}
	}
	if s.Server != nil && s.countedByServer(p.ElapsedNS) > most(*s.Server) {
		mark(finding.MarkServerSyncsParams{SyncsNeeded: needed(most(*s.Server)), Done: *s.Server, Counter: s.Counter})
	}
	if s.SyncNS > 0 {
		if m := most(floorSlack * uint64(p.ElapsedNS/s.SyncNS)); s.Acknowledged > m {
			mark(finding.MarkSyncsTooFastParams{SyncsNeeded: needed(m), Seconds: time.Duration(p.ElapsedNS).Seconds(),
				SyncNS: s.SyncNS, Disk: s.Disk})
		}
	}
	return marks
}

// countedByServer are the writes whose syncs the server's counter must have by the phase's end: what
// came within its lag, at the end or while it was read, need not be in it.
func (s *Syncs) countedByServer(elapsedNS int64) uint64 {
	if s.LagNS == 0 {
		return s.Acknowledged
	}
	sure := 1 - 2*float64(s.LagNS)/float64(max(elapsedNS, 1))
	return uint64(max(0, sure) * float64(s.Acknowledged))
}
