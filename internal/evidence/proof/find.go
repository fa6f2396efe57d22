package proof

import (
	"cmp"
	"maps"
	"slices"

	"assay/store"
)

// Differences are what a proof was made of and a question is not: the values of Cited.Differs.
const (
	OtherProgram      = "program"
	OtherVersion      = "version"
	OtherOptions      = "options"
	OtherSettings     = "settings"
	OtherServers      = "servers"
	OtherFileSystem   = "file-system"
	OtherMountOptions = "mount-options"
)

// Cited is a proof, and what in it is not as in the question that it is cited for: nothing, where it is an
// answer.
type Cited struct {
	Proof
	Differs []string
}

// Find returns what cuts of a kind have shown of a question: a refutation, if there is one, or the proof by
// most cuts. Where there is neither, it returns the proof of the same driver and class that differs in
// least, which answers nothing; nil: there is none.
//
// A refutation counts on whatever file system it was made, of the same class or a weaker one: who loses
// writes that need not survive a power cut does not keep those that must. A proof counts on the same file
// system, mounted in the same way. What the strict file system has shown is left out: stores stand on real
// ones, and those decide ranks. So is what followed an error, of which no class speaks. A cut of one server
// of several refutes D3, and does not prove it; so does one of a disk with larger sectors.
func Find(q Question, kind string) (*Cited, error) {
	all, err := All()
	var best *Cited
	for i := range all {
		p := &all[i]
		if !p.speaksOf(q, kind) {
			continue
		}
		c := Cited{*p, p.differs(q)}
		if near := len(c.Differs) > 0; near && p.Class != q.Class {
			continue
		}
		if best == nil || c.before(best) {
			best = &c
		}
	}
	return best, err
}

// speaksOf reports whether a proof is of a question's driver and class, by a kind of cuts that tells.
func (p *Proof) speaksOf(q Question, kind string) bool {
	switch {
	case p.Store != q.Store, p.Kind != kind, p.Strict, p.Fault != "":
		return false
	case !p.Kept:
		return includes(q.Class, p.Class) && (p.Class != store.D2 || q.Class != store.D2 || q.WindowNS <= p.WindowNS)
	case p.OneNode && q.Class != store.D4, p.Sector > 0:
		return false
	}
	return p.Class == q.Class && p.WindowNS == q.WindowNS
}

// includes reports whether what a class lets survive survives in another one, too. D4 is about nodes, and D2
// does not outlive a kill.
func includes(stronger, weaker store.Durability) bool {
	return stronger == weaker || stronger == store.D3 && (weaker == store.D1 || weaker == store.D2)
}

// differs lists what in a question is not as in a proof.
func (p *Proof) differs(q Question) (names []string) {
	was, is := p.Question.withoutPlace(), q.withoutPlace()
	for _, difference := range []struct {
		name string
		is   bool
	}{
		{OtherProgram, was.Program != is.Program || is.Program == ""},
		{OtherVersion, was.Version != is.Version},
		{OtherOptions, !maps.Equal(was.Options, is.Options)},
		{OtherSettings, !maps.Equal(was.Settings, is.Settings)},
		{OtherServers, was.Servers != is.Servers},
		{OtherFileSystem, was.FileSystem != is.FileSystem && p.Kept},
		{OtherMountOptions, was.FileSystem == is.FileSystem && was.MountOptions != is.MountOptions && p.Kept},
	} {
		if difference.is {
			names = append(names, difference.name)
		}
	}
	return names
}

// before reports whether a proof tells more of the question than another one.
func (c *Cited) before(other *Cited) bool {
	refutes := func(c *Cited) int {
		if c.Kept {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(len(c.Differs), len(other.Differs)), cmp.Compare(refutes(c), refutes(other)),
		-cmp.Compare(c.Cuts, other.Cuts), slices.Compare(c.Differs, other.Differs)) < 0
}
