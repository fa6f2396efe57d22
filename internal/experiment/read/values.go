package read

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"assay/internal/experiment"
	"assay/internal/experiment/keyval"
)

func (r *resolver) keys() *Error {
	k := r.file.Keys
	shape := keyval.KeyShape{
		Format: keyval.KeyFormat(orText(string(k.Format), string(keyval.Binary))), Suffix: k.Suffix, Scatter: k.Scatter,
	}
	if k.Prefix != nil {
		shape.Prefix = *k.Prefix
	}
	if k.Digits != nil {
		shape.Digits = int(min(*k.Digits, 1<<30))
	}
	if k.First != nil {
		shape.First = uint64(*k.First)
	}
	if k.Bytes != nil {
		shape.Bytes = int(min(*k.Bytes, 1<<30))
	}
	recorded := r.recordedKeyBytes()
	switch {
	case shape.Format == keyval.Binary && k.Bytes == nil && recorded > 0:
		shape.Bytes = max(recorded, keyBytesSafe)
	case shape.Format == keyval.Decimal && recorded > 0 && k.Digits == nil && k.Prefix == nil && k.Suffix == "":
		shape.Digits = min(max(recorded, keyDigitsSafe), keyDigitsMost)
		shape.Suffix = strings.Repeat("k", min(max(recorded-shape.Digits, 0), keySuffixMax))
	case shape.Format == keyval.Binary && k.Bytes == nil:
		shape.Bytes = defaultKeyBytes
	case shape.Format != keyval.Binary && k.Bytes != nil:
		return r.fail([]string{"keys", "bytes"}, "%s keys are as long as their digits: they take no bytes", shape.Format)
	case shape.Format == keyval.YCSB && k.Prefix == nil:
		shape.Prefix = "user"
	}
	if err := shape.Check(); err != nil {
		return r.fail([]string{"keys"}, "%v", err)
	}
	r.e.Keys = shape
	return nil
}

// namespace makes room in the keys for the trial's name, where one of the stores is a server that
// outlives the trial and may hold others' keys. All stores then have such keys, so that they
// are equally long.
func (r *resolver) namespace() *Error {
	server := slices.ContainsFunc(r.e.Stores, func(s experiment.Store) bool {
		return s.Outlives() && !(s.Description.KeyText && r.e.Keys.Format == keyval.Binary)
	})
	if !server {
		return nil
	}
	r.e.KeyNamespace = true
	r.e.Keys.Prefix = experiment.KeyPlaceholder + r.e.Keys.Prefix
	if least := len(r.e.Keys.Prefix) + keyBytesSafe; r.recordedKeyBytes() > 0 && r.file.Keys.Bytes == nil &&
		r.e.Keys.Format == keyval.Binary && r.e.Keys.Bytes < least {
		if !r.wantsKeyLengths() || r.oneKeyLength() != "" {
			r.note("keys have %d bytes, 8 of which name the trial; recorded are %d", least, r.recordedKeyBytes())
		}
		r.e.Keys.Bytes = least
	}
	if err := r.e.Keys.Check(); err != nil {
		return r.fail([]string{"keys"}, "on a server, keys begin with %d bytes that name the trial: %v", len(experiment.KeyPlaceholder), err)
	}
	return nil
}

func (r *resolver) values() *Error {
	v := r.file.Values
	repeated := defaultRepeated
	if v.Repeated != nil {
		repeated = *v.Repeated
	}
	if repeated < 0 || repeated > 1 {
		return r.fail([]string{"values", "repeated"}, "repeated is a share of each value, 0 to 1, not %v", repeated)
	}
	pool := orCount64(v.PoolBytes, defaultPoolBytes)
	r.e.Values = experiment.Values{RepeatedPermille: int(repeated*1000 + 0.5), PoolBytes: int(min(pool, 1<<40))}
	shape := keyval.ValueShape{PoolBytes: r.e.Values.PoolBytes, RepeatedPermille: r.e.Values.RepeatedPermille,
		TrialTag: 1} // each trial has its own
	if err := shape.Check(); err != nil {
		return r.fail([]string{"values", "pool_bytes"}, "%v", err)
	}
	sizes, failure := r.sizesOf()
	if failure != nil {
		return r.fail([]string{"values", "sizes"}, "the lengths of values in %s can't be read: %v", v.Sizes.File, failure)
	}
	if len(sizes) > 0 && len(v.Bytes) > 0 {
		return r.fail([]string{"values", "sizes"}, "values have either bytes or sizes, not both")
	}
	if len(sizes) > sizesMax {
		return r.fail([]string{"values", "sizes"}, "%d sizes: at most %d", len(sizes), sizesMax)
	}
	if !r.ownValues() {
		r.e.Values.Sizes = r.recordedSizes()
	}
	for i, size := range sizes {
		at := []string{"values", "sizes", fmt.Sprint(i)}
		if size.Bytes > valueBytesMax {
			return r.fail(append(at, "bytes"), "a value has at most 1 GiB")
		}
		if size.Weight <= 0 || size.Weight > 1e12 {
			return r.fail(append(at, "weight"), "each size needs a weight above 0 (and at most 1e12)")
		}
		r.e.Values.Sizes = append(r.e.Values.Sizes, experiment.Size{Bytes: int(size.Bytes), Weight: size.Weight})
	}
	return nil
}

// meanRecordBytes is over the first records: later ones have a few digits more.
func (r *resolver) meanRecordBytes() Count {
	const looked = 1000
	record, sum := r.e.Values.Record(), 0
	for index := range uint64(looked) {
		sum += record.Bytes(index)
	}
	return Count(math.Round(float64(sum) / looked))
}

// usualValueBytes is the length of values where the file gives none.
func (r *resolver) usualValueBytes() Count {
	switch {
	case !r.ownValues() && len(r.e.Values.Sizes) > 0:
		return r.recordedValueBytes()
	case len(r.file.Values.Sizes.List) > 0:
		return r.meanValueBytes()
	case len(r.file.Values.Columns) > 0:
		return r.meanRecordBytes()
	}
	return defaultValueBytes
}

func (r *resolver) meanValueBytes() Count {
	sum, weights := 0.0, 0.0
	for _, size := range r.file.Values.Sizes.List {
		sum += float64(size.Bytes) * size.Weight
		weights += size.Weight
	}
	return Count(math.Round(sum / weights))
}
