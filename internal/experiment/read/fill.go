package read

import (
	"time"

	"assay/internal/experiment"
	"assay/internal/experiment/trace"
)

// OnMissForm is what a read that finds nothing does: fill, or nothing.
type OnMissForm string

const fillOnMiss = "fill"

func (f *OnMissForm) fromNode(n *node, path string) *Error {
	if n.kind == null {
		return nil
	}
	if n.kind != scalar || n.text != fillOnMiss {
		return n.expected(path, fillOnMiss)
	}
	*f = OnMissForm(n.text)
	return nil
}

// backendMax bounds how long a fill waits: a phase ends that much late.
const backendMax = 10 * time.Second

// fill resolves what a read that finds nothing does.
func (r workResolver) fill(p PhaseFile, resolved *experiment.Phase) *Error {
	backend := time.Duration(p.Backend)
	switch {
	case p.OnMiss == "" && backend == 0:
		return nil
	case p.OnMiss == "":
		return r.fail(r.in("backend"), "nothing is fetched from a backend: backend has no effect").hint("expected on_miss: fill beside it")
	case p.Load || len(p.Request) > 0 || p.Mix[trace.Read.String()] == 0:
		return r.fail(r.in("on_miss"), "the phase %s has no mix with reads: on_miss has no effect", p.Name).
			hint("expected a mix such as {read: 100}")
	case resolved.MultiRead > 1:
		return r.fail(r.in("on_miss"), "reads of several keys in one call fill nothing").hint("leave out multi_read, or on_miss")
	case r.file.Latency.Every > 1:
		return r.fail(r.in("on_miss"), "with latency: sampled(%d) most fills have no time", r.file.Latency.Every).hint("leave out latency, or on_miss")
	case len(r.file.Values.Columns) > 0:
		return r.fail(r.in("on_miss"), "records with columns are not filled").hint("leave out values.columns, or on_miss")
	case backend%time.Microsecond != 0 || backend > backendMax:
		return r.fail(r.in("backend"), "a backend takes whole microseconds, at most %s, not %s", backendMax, backend)
	}
	resolved.Fill, resolved.Backend = true, backend
	return nil
}
