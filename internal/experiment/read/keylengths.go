package read

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"assay/internal/base/format"
	"assay/internal/experiment/keyval"
)

// keyCutsMax is how many numbers of records, below that of its keys, a replay with keys of their own
// lengths has at most.
const keyCutsMax = 16

// keyCuts are the numbers of records that cells have, ascending: so many keys of a recording, by first
// sight, are those that are loaded.
func (r *resolver) keyCuts() (cuts []uint64) {
	all := slices.Clone(r.file.Records)
	for _, c := range r.file.Cases {
		for _, change := range c.Changes {
			var given OneOrMany[Count]
			if change.path == "records" && given.fromNode(change.value, change.path) == nil {
				all = append(all, given...)
			}
		}
	}
	for _, n := range all {
		if n > 0 {
			cuts = append(cuts, uint64(n))
		}
	}
	slices.Sort(cuts)
	return slices.Compact(cuts)
}

// keyLengths gives each key of a recording its own length, where the file does not say how long keys are.
// The prefix is known by now, which is a part of them.
func (r *resolver) keyLengths() *Error {
	if !r.wantsKeyLengths() {
		return nil
	}
	replay := r.firstReplay()
	file := filepath.Base(replay.File)
	if why := r.oneKeyLength(); why != "" {
		r.note("%s: all keys have the same length: %s", file, why)
		return nil
	}
	shape, unknown := r.e.Keys, uint64(0)
	mean := int(math.Round(replay.Summary.KeyBytesMean))
	lengths := make([]keyval.LengthOf, 0, len(replay.Summary.KeyLengths))
	for _, l := range replay.Summary.KeyLengths {
		if l.Bytes == 0 {
			for _, n := range l.Keys {
				unknown += n
			}
		}
		lengths = append(lengths, keyval.LengthOf{Bytes: l.Bytes, Keys: l.Keys})
	}
	if unknown > 0 {
		lengths = withUnknown(lengths, mean)
		r.note("%s: the lengths of %s are not recorded: they have %d bytes, the mean", file, format.Plural(int(unknown), "key", ""), mean)
	}
	least := 0
	for _, s := range r.e.Stores {
		least = max(least, s.Description.KeyBytesMin)
	}
	floor, more := shape.Lay(lengths, least, mean)
	if err := shape.Check(); err != nil {
		return r.fail([]string{"keys"}, "lengths of the keys of %s: %v", file, err)
	}
	r.e.Keys = shape
	if more > 0 {
		r.note("%s: %s longer than recorded: the shortest have %d bytes%s", file, areKeys(more), floor, r.ofWhichName())
	}
	return nil
}

// wantsKeyLengths reports whether a recording tells several lengths of keys, and the file none.
func (r *resolver) wantsKeyLengths() bool {
	k, replay := r.file.Keys, r.firstReplay()
	return replay != nil && len(replay.Summary.KeyLengths) > 1 && k.Bytes == nil && k.Digits == nil && k.First == nil &&
		k.Suffix == "" && r.e.Keys.Format != keyval.YCSB
}

func areKeys(n uint64) string {
	if n == 1 {
		return "1 key is"
	}
	return format.Count(n) + " keys are"
}

// ofWhichName says how much of each key names the trial.
func (r *resolver) ofWhichName() string {
	if !r.e.KeyNamespace {
		return ", which tell them apart"
	}
	return ", of which 8 name the trial and the others tell them apart"
}

// oneKeyLength says why keys can't have lengths of their own; "": they can.
func (r *resolver) oneKeyLength() string {
	for _, s := range r.e.Stores {
		if s.Missing == "" && !s.Description.KeyLengths {
			return fmt.Sprintf("the worker of %s makes no others", s.Name)
		}
	}
	lengths, cuts := len(r.firstReplay().Summary.KeyLengths), len(r.keyCuts())
	if cuts > keyCutsMax || lengths*(cuts+1) >= keyval.StretchesMax {
		return fmt.Sprintf("records has %d values, and the recording %d lengths", cuts, lengths)
	}
	return ""
}

// withUnknown adds the keys whose length is not told, the first ones, to those of a length.
func withUnknown(lengths []keyval.LengthOf, bytes int) []keyval.LengthOf {
	unknown, rest := lengths[0], lengths[1:]
	at, found := slices.BinarySearchFunc(rest, bytes, func(l keyval.LengthOf, bytes int) int { return l.Bytes - bytes })
	if !found {
		return slices.Insert(rest, at, keyval.LengthOf{Bytes: bytes, Keys: unknown.Keys})
	}
	sum := slices.Clone(rest[at].Keys)
	for part, n := range unknown.Keys {
		sum[part] += n
	}
	rest[at].Keys = sum
	return rest
}
