package record

import (
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Values are figures by name. Samples of a series have the same names nearly always, so the names
// stand once for all of them: as maps, the samples of a thousand trials took 100 MB.
type Values struct {
	names *nameList
	of    []float64
}

// nameList is sorted, and shared.
type nameList []string

// sharedMax is how many lists are kept to be shared: names come from files.
const sharedMax = 10_000

var shared struct {
	guard sync.Mutex
	lists map[string]*nameList
}

// ValuesOf takes the values of a map.
func ValuesOf(values map[string]float64) Values {
	if len(values) == 0 {
		return Values{}
	}
	names := slices.Sorted(maps.Keys(values))
	v := Values{namesShared(names), make([]float64, len(names))}
	for i, name := range names {
		v.of[i] = values[name]
	}
	return v
}

func namesShared(names []string) *nameList {
	key := strings.Join(names, "\x00")
	shared.guard.Lock()
	defer shared.guard.Unlock()
	if list := shared.lists[key]; list != nil && len(*list) == len(names) {
		return list
	}
	list := nameList(names)
	if shared.lists == nil {
		shared.lists = map[string]*nameList{}
	}
	if len(shared.lists) < sharedMax {
		shared.lists[key] = &list
	}
	return &list
}

// Get returns a figure; false: there is none of the name.
func (v Values) Get(name string) (value float64, there bool) {
	if v.names == nil {
		return 0, false
	}
	at, there := slices.BinarySearch(*v.names, name)
	if !there {
		return 0, false
	}
	return v.of[at], true
}

// All returns the figures, sorted by name.
func (v Values) All() iter.Seq2[string, float64] {
	return func(yield func(string, float64) bool) {
		for i, value := range v.of {
			if !yield((*v.names)[i], value) {
				return
			}
		}
	}
}

// IsZero reports whether there is no figure.
func (v Values) IsZero() bool { return len(v.of) == 0 }

// MarshalJSON writes an object.
func (v Values) MarshalJSON() ([]byte, error) { return json.Marshal(maps.Collect(v.All())) }

// UnmarshalJSON reads an object.
func (v *Values) UnmarshalJSON(data []byte) error {
	var values map[string]float64
	if err := json.Unmarshal(data, &values); err != nil {
		return err
	}
	*v = ValuesOf(values)
	return nil
}
