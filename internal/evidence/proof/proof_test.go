package proof

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"assay/store"
)

// asked is a question whose program is known.
func asked() Question {
	return Question{Store: "bbolt", Version: "1.4", Program: "c0ffee", Options: map[string]string{"k": "1"}, Settings: map[string]string{"NoSync": "false"},
		Class: store.D3, FileSystem: "ext4"}
}

// kept saves proofs, and returns what answers a question of the first.
func kept(t *testing.T, all ...Proof) func(q Question, kind string) *Cited {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for _, p := range all {
		if _, err := Save(p); err != nil {
			t.Fatal(err)
		}
	}
	return func(q Question, kind string) *Cited {
		t.Helper()
		c, err := Find(q, kind)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
}

func TestFind(t *testing.T) {
	q := asked()
	if c := kept(t)(q, Power); c != nil {
		t.Fatalf("nothing was saved, found %+v", c)
	}
	find := kept(t, Proof{Question: q, Kind: Power, Rig: 1, Kept: true, Cuts: 200}, Proof{Question: q, Kind: Power,
		Rig: 1, Kept: true, Cuts: 20})
	if c := find(q, Power); c == nil || c.Cuts != 200 || len(c.Differs) > 0 || c.Text() != "proved by 200 cuts on ext4" {
		t.Errorf("the proof by more cuts is lost: %+v", c)
	}
	placed := q
	placed.Settings = map[string]string{"NoSync": "false", "port": "1234", "listen": "127.0.0.1:1234", "store_dir": "/tmp/x"}
	if c := find(placed, Power); c == nil || len(c.Differs) > 0 {
		t.Errorf("a server at another port has no proof: %+v", c)
	}
	if c := find(q, Kill); c != nil {
		t.Errorf("a power cut answers for kills: %+v", c)
	}
	window := q
	window.Class, window.WindowNS = store.D2, 1
	if c := find(window, Power); c != nil {
		t.Errorf("cuts of D3 answer for D2: %+v", c)
	}
	directory, err := Directory()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(directory, "x.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if c, err := Find(q, Power); err == nil || c == nil {
		t.Errorf("a broken file is passed over in silence, or hides the others: %+v, %v", c, err)
	}
}

// What differs in anything from what was cut is not proved by it, and not refuted.
//
// Fault (physics): a proved store's program, build, options, file system or mount options are
// others
// Assay: the proof does not hold: the class is claimed, and the screen says what was cut in its
// place
// With: host.TestLoaded
func TestFindNames(t *testing.T) {
	for difference, other := range map[string]func(q *Question){
		OtherProgram:      func(q *Question) { q.Program = "decaf" },
		OtherVersion:      func(q *Question) { q.Version = "1.5" },
		OtherOptions:      func(q *Question) { q.Options = map[string]string{"k": "8"} },
		OtherSettings:     func(q *Question) { q.Settings = map[string]string{"NoSync": "true"} },
		OtherServers:      func(q *Question) { q.Servers = 3 },
		OtherFileSystem:   func(q *Question) { q.FileSystem = "xfs" },
		OtherMountOptions: func(q *Question) { q.MountOptions = "data=journal" },
	} {
		t.Run(difference, func(t *testing.T) {
			q := asked()
			other(&q)
			find := kept(t, Proof{Question: asked(), Kind: Power, Kept: true, Cuts: 200})
			if c := find(q, Power); c == nil || !slices.Equal(c.Differs, []string{difference}) {
				t.Errorf("found %+v, expected what was cut, which differs in %s", c, difference)
			}
			find = kept(t, Proof{Question: asked(), Kind: Power, Cuts: 5, Broken: 1})
			place := difference == OtherFileSystem || difference == OtherMountOptions
			if c := find(q, Power); c == nil || c.Kept || (len(c.Differs) == 0) != place {
				t.Errorf("found the refutation %+v, which counts on every file system and for nothing else that differs", c)
			}
		})
	}
	t.Run("unknown", func(t *testing.T) { // two programs of which nothing is known are not the same
		q := asked()
		q.Program = ""
		if c := kept(t, Proof{Question: q, Kind: Power, Kept: true, Cuts: 200})(q, Power); c == nil ||
			!slices.Equal(c.Differs, []string{OtherProgram}) {
			t.Errorf("found %+v", c)
		}
	})
}

// A refutation takes the classes from that in which it was made on, by whatever kind of cut.
//
// Fault (physics): kills have refuted the class in which a store is measured next, or a weaker one
// Assay: `durability-not-shown` (`class-refuted`), no rank, exit status 3
// With: run.TestProofsAreCited
func TestFindRefutations(t *testing.T) {
	of := func(class store.Durability) Question {
		q := asked()
		q.Class = class
		return q
	}
	find := kept(t, Proof{Question: of(store.D1), Kind: Kill, Cuts: 10, Broken: 7}, Proof{Question: of(store.D1),
		Kind: Kill, Kept: true, Cuts: 1000},
		Proof{Question: of(store.D3), Kind: Kill, Kept: true, Cuts: 1000})
	for class, refuted := range map[store.Durability]bool{store.D1: true, store.D3: true, store.D2: false} {
		if c := find(of(class), Kill); (c != nil && !c.Kept) != refuted {
			t.Errorf("kills refuted D1, and say of %s: %+v", class, c)
		}
	}
	find = kept(t, Proof{Question: of(store.D3), Kind: Kill, Cuts: 10, Broken: 1}, Proof{Question: of(store.D1),
		Kind: Kill, Kept: true, Cuts: 50})
	if c := find(of(store.D1), Kill); c == nil || !c.Kept {
		t.Errorf("what kills refuted in D3 alone is refuted in D1, too: %+v", c)
	}
	set := of(store.D3)
	set.Settings = map[string]string{"NoSync": "true"}
	if c := kept(t, Proof{Question: of(store.D1), Kind: Kill, Cuts: 10, Broken: 7})(set, Kill); c != nil {
		t.Errorf("a weaker class with other settings speaks of this one: %+v", c)
	}
}

// What cuts of one node, of larger sectors and of the strict file system show.
func TestFindByKindOfCut(t *testing.T) {
	q, several := asked(), asked()
	several.Servers = 3
	strict := q
	strict.FileSystem = "posix"
	find := kept(t, Proof{Question: q, Kind: Power, Kept: true, Cuts: 200}, Proof{Question: strict, Kind: Power,
		Strict: true, Cuts: 3, Broken: 1},
		Proof{Question: q, Kind: Power, Kept: true, Cuts: 400, Sector: 4096}, Proof{Question: q, Kind: Power, Cuts: 4, Fault: "enospc"})
	if c := find(q, Power); c == nil || !c.Kept || c.Cuts != 200 {
		t.Errorf("the strict file system, larger sectors or faults decide: %+v", c)
	}
	one := Proof{Question: several, Kind: Power, Kept: true, Cuts: 500, OneNode: true}
	if c := kept(t, one)(several, Power); c != nil {
		t.Errorf("D3 is proved by cuts of one server of three: %+v", c)
	}
	refuted := one
	refuted.Kept, refuted.Broken = false, 1
	if c := kept(t, refuted)(several, Power); c == nil || c.Kept || len(c.Differs) > 0 {
		t.Errorf("a cut of one server of three does not refute D3: %+v", c)
	}
	later := kept(t, Proof{Question: q, Kind: Power, Cuts: 3, Broken: 1, Why: "lost 1 of 9 records"}, Proof{Question: q, Kind: Power, Kept: true, Cuts: 1000})
	if c := later(q, Power); c == nil || c.Kept || c.Text() != "refuted: lost 1 of 9 records" {
		t.Errorf("later cuts have taken the refutation away: %+v", c)
	}
}
