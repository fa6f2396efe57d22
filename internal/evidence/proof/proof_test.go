package proof

import (
	"os"
	"path/filepath"
	"testing"

	"assay/store"
)

func TestFind(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	q := Question{Store: "bbolt", Version: "1.4", Settings: map[string]string{"NoSync": "false"}, Class: store.D3}
	found := func(kind string) *Proof {
		t.Helper()
		p, err := Find(q, kind)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	save := func(p Proof) {
		t.Helper()
		if _, err := Save(p); err != nil {
			t.Fatal(err)
		}
	}
	if p := found("power"); p != nil {
		t.Fatalf("nothing was saved, found %+v", p)
	}
	save(Proof{Question: q, Kind: "power", FileSystem: "ext4", Rig: 1, Kept: true, Cuts: 200})
	save(Proof{Question: q, Kind: "power", FileSystem: "ext4", Rig: 1, Kept: true, Cuts: 20})
	if p := found("power"); p == nil || p.Cuts != 200 || p.Text() != "proved by 200 cuts on ext4" {
		t.Errorf("the proof by more cuts is lost: %+v", p)
	}
	placed := q
	placed.Settings = map[string]string{"NoSync": "false", "port": "1234", "store_dir": "/tmp/x"}
	if p, err := Find(placed, "power"); p == nil || err != nil {
		t.Errorf("a server at another port has no proof: %v", err)
	}
	if p := found("kill"); p != nil {
		t.Errorf("a power cut answers for kills: %+v", p)
	}
	for name, other := range map[string]Question{
		"version":  {Store: "bbolt", Version: "1.5", Settings: q.Settings, Class: store.D3},
		"settings": {Store: "bbolt", Version: "1.4", Settings: map[string]string{"NoSync": "true"}, Class: store.D3},
		"class":    {Store: "bbolt", Version: "1.4", Settings: q.Settings, Class: store.D2, WindowNS: 1},
	} {
		if p, err := Find(other, "power"); p != nil || err != nil {
			t.Errorf("another %s has the proof %+v, %v", name, p, err)
		}
	}
	mounted := q
	mounted.MountOptions = "data=journal"
	save(Proof{Question: mounted, Kind: "power", FileSystem: "ext4", Rig: 1, Kept: true, Cuts: 300})
	if p := found("power"); p == nil || p.Cuts != 200 {
		t.Errorf("another way to mount the file system answers: %+v", p)
	}
	if p, err := Find(mounted, "power"); err != nil || p == nil || p.Text() != "proved by 300 cuts on ext4 (data=journal)" {
		t.Errorf("the proof of a way to mount the file system is lost: %+v, %v", p, err)
	}
	save(Proof{Question: q, Kind: "power", FileSystem: "posix", Strict: true, Rig: 1, Cuts: 3, Broken: 1})
	if p := found("power"); p == nil || !p.Kept {
		t.Errorf("the strict file system decides: %+v", p)
	}
	several := q
	several.Servers = 3
	save(Proof{Question: several, Kind: "power", FileSystem: "ext4", Rig: 1, Kept: true, Cuts: 500, OneNode: true})
	if p, err := Find(several, "power"); p != nil || err != nil {
		t.Errorf("D3 is proved by cuts of one server of three: %+v, %v", p, err)
	}
	if p := found("power"); p == nil || p.Cuts != 200 {
		t.Errorf("three servers answer for one: %+v", p)
	}
	save(Proof{Question: several, Kind: "power", FileSystem: "ext4", Rig: 1, Cuts: 5, Broken: 1, OneNode: true})
	if p, err := Find(several, "power"); p == nil || p.Kept || err != nil {
		t.Errorf("a cut of one server of three does not refute D3: %+v, %v", p, err)
	}
	save(Proof{Question: q, Kind: "power", FileSystem: "ext4", Rig: 1, Kept: true, Cuts: 400, Sector: 4096})
	if p := found("power"); p == nil || p.Cuts != 200 {
		t.Errorf("a disk of larger sectors proves what smaller ones may tear: %+v", p)
	}
	save(Proof{Question: q, Kind: "power", FileSystem: "xfs", Rig: 1, Cuts: 3, Broken: 1, Why: "lost 1 of 9 records"})
	if p := found("power"); p == nil || p.Kept || p.Text() != "refuted: lost 1 of 9 records" {
		t.Errorf("the refutation is not found: %+v", p)
	}
	save(Proof{Question: q, Kind: "power", FileSystem: "xfs", Rig: 1, Kept: true, Cuts: 1000})
	if p := found("power"); p == nil || p.Kept {
		t.Errorf("later cuts have taken the refutation away: %+v", p)
	}
	directory, err := Directory()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(directory, "x.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if p, err := Find(q, "power"); err == nil || p == nil {
		t.Errorf("a broken file is passed over in silence, or hides the others: %+v, %v", p, err)
	}
}

// A client's library keeps nothing: what was proved of a server is of its version.
func TestVersionOf(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	of := func(client, server string) Question {
		settings := map[string]string{"version": server}
		return Question{Store: "etcd", Version: VersionOf(client, settings), Settings: settings, Class: store.D3}
	}
	if _, err := Save(Proof{Question: of("v3.7.3", "3.4.23"), Kind: "power", FileSystem: "ext4", Kept: true, Cuts: 50}); err != nil {
		t.Fatal(err)
	}
	if p, err := Find(of("v3.7.4", "3.4.23"), "power"); err != nil || p == nil || p.Version != "3.4.23" {
		t.Errorf("another client has no proof of the server: %+v, %v", p, err)
	}
	if p, err := Find(of("v3.7.3", "3.5.0"), "power"); err != nil || p != nil {
		t.Errorf("another server has the proof %+v, %v", p, err)
	}
	if v := VersionOf("v1.5.0", map[string]string{"NoSync": "false"}); v != "v1.5.0" {
		t.Errorf("an embedded store is of version %s", v)
	}
}
