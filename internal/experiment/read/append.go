package read

import (
	"slices"

	"assay/internal/experiment"
	"assay/internal/experiment/keyval"
	"assay/internal/experiment/trace"
)

// What appends add where the file does not say it.
const (
	defaultAppendBytes = 100
	defaultAppendParts = 4
	appendBytesMax     = 16 << 20
)

// single refuses where operations of caches have no meaning.
func (r workResolver) single(p PhaseFile, resolved *experiment.Phase) *Error {
	for _, o := range []trace.Operation{trace.Touch, trace.Append, trace.GetAndSet} {
		if p.Mix[o.String()] > 0 && len(r.file.Values.Columns) > 0 {
			return r.fail(r.in("mix", o.String()), "records with columns have no %s", o).hint("leave out values.columns, or %s", o)
		}
	}
	ends := p.TTL != nil && slices.ContainsFunc(p.TTL.Times, func(t TTLFile) bool { return t.After.Duration > 0 })
	if p.Mix[trace.Touch.String()] > 0 && !ends {
		return r.fail(r.in("mix", trace.Touch.String()), "touch gives records a TTL, and the phase %s has none", p.Name).
			hint("expected ttl: 30s beside the mix")
	}
	return nil
}

// appends resolves what appends add.
func (r workResolver) appends(p PhaseFile, resolved *experiment.Phase) *Error {
	if p.Mix[trace.Append.String()] == 0 {
		if p.Append != nil {
			return r.fail(r.in("append"), "the phase %s has no mix with append: append has no effect", p.Name).
				hint("expected a mix such as {append: 20, read: 80}")
		}
		return nil
	}
	given := AppendFile{}
	if p.Append != nil {
		given = *p.Append
	}
	a := experiment.Append{Bytes: orCount(given.Bytes, defaultAppendBytes),
		Parts: orCount(given.Parts, defaultAppendParts)}
	switch order := string(p.Order.Distribution); {
	case a.Bytes < keyval.StampBytes || a.Bytes > appendBytesMax:
		return r.fail(r.in("append", "bytes"), "a part has %d bytes, which prove whose it is, to %d, not %d",
			keyval.StampBytes, appendBytesMax, a.Bytes)
	case a.Parts < 1 || a.Parts > trace.AppendPartsMax:
		return r.fail(r.in("append", "parts"), "a thread appends 1 to %d parts to a value, not %d", trace.AppendPartsMax,
			a.Parts)
	case order == trace.Latest || order == trace.Counting:
		return r.fail(r.in("mix", trace.Append.String()), "append has no order %s: its records are new with each lap", order).
			hint("expected another order, such as uniform or zipfian")
	case r.has([]string{"agents"}):
		return r.fail(r.in("mix", trace.Append.String()), "agents on several machines do not know what others appended").
			hint("leave out agents, or append")
	}
	resolved.Append = a
	return nil
}
