package powercut

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// modelFS is a file system with volatile and durable bytes of each file, and volatile and durable names of
// each directory, each as it was at the last sync. It shares nothing with tree.
type modelFS struct {
	bytes, durableBytes map[uint64][]byte
	names, durableNames map[uint64]map[string]uint64
}

func (s *sparse) all() []byte {
	text := make([]byte, s.length)
	return text[:s.read(text, 0)]
}

func (m *modelFS) sync(id uint64) {
	if names, directory := m.names[id]; directory {
		m.durableNames[id] = maps.Clone(names)
	} else {
		m.durableBytes[id] = bytes.Clone(m.bytes[id])
	}
}

// paths lists what has a name, with its bytes.
func paths(names map[uint64]map[string]uint64, content map[uint64][]byte, id uint64, path string) (all []string) {
	for name, child := range names[id] {
		if _, directory := names[child]; directory {
			all = append(all, path+"/"+name+"/")
			all = append(all, paths(names, content, child, path+"/"+name)...)
		} else {
			all = append(all, fmt.Sprintf("%s/%s %x", path, name, content[child]))
		}
	}
	slices.Sort(all)
	return all
}

func (t *tree) paths() (all []string) {
	t.walk(func(path string, n *node) {
		switch {
		case path == "/":
		case n.directory:
			all = append(all, path+"/")
		default:
			all = append(all, fmt.Sprintf("%s %x", path, n.data.all()))
		}
	})
	slices.Sort(all)
	return all
}

// A cut that keeps nothing but what is durable leaves what the last syncs saw; one that keeps all leaves
// everything; and whatever a cut keeps, what was synced after its last change is there.
func TestStrictTreeAgainstModel(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		live, log := newTree(), Log{last: Stamp{Phase: -1}}
		m := modelFS{map[uint64][]byte{}, map[uint64][]byte{}, map[uint64]map[string]uint64{rootNode: {}},
			map[uint64]map[string]uint64{rootNode: {}}}
		directories, files := []uint64{rootNode}, []uint64{}
		clean := map[uint64]bool{rootNode: true} // nothing changed since the last sync
		apply := func(c change) {
			log.entries = append(log.entries, entry{Event: Event{Kind: Tree}, change: &c})
			live.do(&c)
		}
		for range 60 {
			at := directories[random.IntN(len(directories))]
			name, other := string(rune('a'+random.IntN(4))), string(rune('a'+random.IntN(4)))
			existing, there := m.names[at][name]
			isDirectory := m.names[existing] != nil
			switch random.IntN(7) {
			case 0, 1: // make
				if there {
					continue
				}
				made := live.next
				directory := random.IntN(4) == 0
				apply(change{kind: changeLink, node: at, name: name, target: made, directory: directory})
				m.names[at][name], clean[at] = made, false
				if directory {
					m.names[made], m.durableNames[made] = map[string]uint64{}, map[string]uint64{}
					directories = append(directories, made)
				} else {
					files = append(files, made)
				}
				clean[made] = true
			case 2: // write
				if len(files) == 0 {
					continue
				}
				id, data, offset := files[random.IntN(len(files))], []byte{byte(random.IntN(255) + 1),
					7}, int64(random.IntN(6))
				apply(change{kind: changeBytes, node: id, offset: offset, data: data})
				was := m.bytes[id]
				grown := append(bytes.Clone(was), make([]byte, max(0, int(offset)+2-len(was)))...)
				copy(grown[offset:], data)
				m.bytes[id], clean[id] = grown, false
			case 3: // truncate
				if len(files) == 0 {
					continue
				}
				id, length := files[random.IntN(len(files))], random.IntN(6)
				apply(change{kind: changeLength, node: id, offset: int64(length)})
				padded := append(bytes.Clone(m.bytes[id]), make([]byte, 8)...)
				m.bytes[id], clean[id] = padded[:length], false
			case 4: // unlink
				if !there || isDirectory {
					continue
				}
				apply(change{kind: changeUnlink, node: at, name: name})
				delete(m.names[at], name)
				clean[at] = false
			case 5: // rename
				if !there || isDirectory || name == other || m.names[m.names[at][other]] != nil {
					continue
				}
				apply(change{kind: changeRename, node: at, name: name, target: at, newName: other})
				delete(m.names[at], name)
				m.names[at][other], clean[at] = existing, false
			case 6: // sync
				id := at
				if len(files) > 0 && random.IntN(2) == 0 {
					id = files[random.IntN(len(files))]
				}
				apply(change{kind: syncNode, node: id})
				m.sync(id)
				clean[id] = true
			}
		}
		cut := func(keep Keep) *tree {
			left := newTree()
			if err := log.cutTree(left, Cut{At: len(log.entries), Keep: keep, Seed: seed}); err != nil {
				t.Fatal(err)
			}
			return left
		}
		if got, want := cut(KeepNone).paths(), paths(m.durableNames, m.durableBytes, rootNode, ""); !slices.Equal(got, want) {
			t.Fatalf("seed %d: a cut leaves %v, durable is %v", seed, got, want)
		}
		if got, want := cut(KeepAll).paths(), paths(m.names, m.bytes, rootNode, ""); !slices.Equal(got, want) {
			t.Fatalf("seed %d: all is %v, expected %v", seed, got, want)
		}
		for _, keep := range []Keep{KeepHalf, KeepTorn} {
			left := cut(keep)
			for id := range m.names {
				if n := left.nodes[id]; clean[id] && n != nil && !maps.Equal(n.names, m.names[id]) {
					t.Fatalf("seed %d, %s: synced directory %d has %v, expected %v", seed, keep, id, n.names, m.names[id])
				}
			}
			for _, id := range files {
				if n := left.nodes[id]; clean[id] && n != nil && !bytes.Equal(n.data.all(), m.bytes[id]) {
					t.Fatalf("seed %d, %s: synced file %d has %x, expected %x", seed, keep, id, n.data.all(), m.bytes[id])
				}
			}
		}
	}
}

// A file of pages is the same as one of bytes.
func TestSparse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s sparse
		var model []byte
		const most = 3 * pageBytes
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			at := rapid.IntRange(0, most).Draw(t, "at")
			if rapid.Bool().Draw(t, "resize") {
				s.resize(int64(at))
				model = append(model, make([]byte, max(at-len(model), 0))...)[:at:at]
			} else {
				data := bytes.Repeat([]byte{rapid.Byte().Draw(t, "byte")}, rapid.IntRange(1, 2*pageBytes).Draw(t, "bytes"))
				s.write(int64(at), data)
				model = append(model, make([]byte, max(at+len(data)-len(model), 0))...)
				copy(model[at:], data)
			}
		}
		if !bytes.Equal(s.all(), model) {
			t.Fatalf("%d bytes are not the %d of the model", s.length, len(model))
		}
		part := make([]byte, 100)
		at := rapid.IntRange(0, most).Draw(t, "read at")
		if n := s.read(part, int64(at)); !bytes.Equal(part[:n], model[min(at, len(model)):min(at+100, len(model))]) {
			t.Fatalf("a read at %d gives %d other bytes", at, n)
		}
	})
}

// What was written before a sync that failed is not durable, though the next sync succeeds.
func TestFailedSync(t *testing.T) {
	log := Log{last: Stamp{Phase: -1}}
	const file = rootNode + 1
	for _, c := range []change{
		{kind: changeLink, node: rootNode, name: "f", target: file}, {kind: syncNode, node: rootNode},
		{kind: changeBytes, node: file, data: []byte("first")}, {kind: syncNode, node: file},
		{kind: changeBytes, node: file, data: []byte("SECOND")}, {kind: syncFailed, node: file},
		{kind: changeBytes, node: file, offset: 6, data: []byte("third")}, {kind: syncNode, node: file},
	} {
		log.entries = append(log.entries, entry{Event: Event{Kind: Tree}, change: &c})
	}
	for keep, want := range map[Keep]string{KeepNone: "first\x00third", KeepAll: "SECONDthird"} {
		left := newTree()
		if err := log.cutTree(left, Cut{At: len(log.entries), Keep: keep}); err != nil {
			t.Fatal(err)
		}
		if got := string(left.nodes[file].data.all()); got != want {
			t.Errorf("%s leaves %q, expected %q", keep, got, want)
		}
	}
}
