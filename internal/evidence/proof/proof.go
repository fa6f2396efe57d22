// Package proof keeps what cuts have shown of stores' durability classes, beyond the run that showed
// it: one file for each program, its version, options and settings, file system, class and way to cut.
// What changes any of these is another question, with a proof of its own (proof.go). What answers a
// question, and what comes near to it, is found in find.go.
// running.go completes a question with what runs.
//
// A refutation outlives later successes: cuts are drawn, and one that broke a promise counts however
// many did not. A mended store has another program, version or settings.
package proof

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"assay/internal/base/bounded"
	"assay/internal/base/owned"
	"assay/store"
)

// Question is what cuts answer. Version is the library's or, of a server, the server's.
type Question struct {
	Store    string            `json:"store"` // the driver
	Version  string            `json:"version"`
	Program  string            `json:"program_sha256,omitempty"` // of all that runs: host.Digests.Loaded; "": not known
	Options  map[string]string `json:"options,omitempty"`        // of driver, server and JVM, defaults included
	Settings map[string]string `json:"settings"`                 // in force, as the store reported them
	Class    store.Durability  `json:"class"`
	WindowNS int64             `json:"window_ns,omitempty"` // of D2
	Servers  int               `json:"servers,omitempty"`   // that make the store, if they are several
	// FileSystem is the kind of that which the store's files stand on, and MountOptions what decides there
	// what a cut takes: mounts.Decisive.
	FileSystem   string `json:"file_system,omitempty"`
	MountOptions string `json:"mount_options,omitempty"`
}

// serverVersion is the setting by which drivers tell the version of a server.
const serverVersion = "version"

// VersionOf is the version that a question is about: a server's, and not that of its client's library, which
// keeps nothing.
func VersionOf(library string, settings map[string]string) string {
	return cmp.Or(settings[serverVersion], library)
}

// Kinds of cuts.
const (
	Kill  = "kill"  // of the store's processes
	Power = "power" // of its disk
)

// Proof is an answer.
type Proof struct {
	Question
	Kind    string `json:"kind"`                   // Kill or Power
	Rig     int    `json:"rig,omitempty"`          // version of the rig
	Sector  int64  `json:"sector_bytes,omitempty"` // of its disk; 0: 512
	Strict  bool   `json:"strict,omitempty"`       // the file system is Assay's own, which keeps no more than POSIX says
	OneNode bool   `json:"one_node,omitempty"`     // the power of one server was cut, and the others went on
	Fault   string `json:"fault,omitempty"`        // that a call of the store met before each cut; "": none

	Kept bool `json:"kept"` // false: refuted
	// NoPromise: the class says nothing of such cuts, so that nothing is kept or refuted; Loss is what they took.
	NoPromise bool `json:"no_promise,omitempty"`
	Measure
	Cuts int `json:"cuts"`
	// Records were read back after the cuts, over all of them.
	Records uint64    `json:"records_read_back,omitempty"`
	Broken  int       `json:"broken,omitempty"`
	NotBack int       `json:"not_back,omitempty"` // cuts of one server after which it did not start again
	Why     string    `json:"why,omitempty"`      // it is refuted
	Seed    uint64    `json:"seed"`
	Threads int       `json:"threads"`
	Made    time.Time `json:"made"`
	// Case is the directory of the smallest case that refutes it, which assay crash --replay does
	// again; "": none was kept.
	Case string `json:"case,omitempty"`
}

// Measure is the price of a class, and what cuts took of it.
type Measure struct {
	// Single writes per second on the disk, of one short life.
	Rate float64 `json:"rate,omitempty"`
	Loss *Loss   `json:"loss,omitempty"` // what cuts took; nil: the store opened after no cut
}

// Loss is how long before the cut the first missing write was acknowledged, over cuts, and how many records
// miss theirs.
type Loss struct {
	Cuts       int    `json:"cuts"`               // after which the store opened
	MedianNS   int64  `json:"median_ns"`          // of how long before the cut that was
	LowNS      int64  `json:"low_ns"`             // begin of the median's 95 % confidence interval
	HighNS     int64  `json:"high_ns"`            // end of that interval
	WorstNS    int64  `json:"worst_ns"`           // the longest time before the cut
	Records    uint64 `json:"records_median"`     // records that miss their write, in the median
	RecordsMax uint64 `json:"records_worst"`      // records that miss their write, at most
	LostAll    int    `json:"lost_all,omitempty"` // cuts that left nothing: a longer load would have lost more
	Refused    int    `json:"refused,omitempty"`  // cuts after which it did not open
}

// Directory is where the proofs of this user stand: in XDG_CACHE_HOME or ~/.cache.
func Directory() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("where proofs are kept: %w", err)
	}
	return filepath.Join(cache, "assay", "proofs"), nil
}

// ID names a proof: the store, the class and how it was cut, and a digest of everything else that
// makes it another question.
func (p *Proof) ID() string {
	key, err := json.Marshal(struct {
		Question
		Kind    string
		Rig     int
		Fault   string `json:",omitempty"`
		OneNode bool   `json:",omitempty"`
		Sector  int64  `json:",omitempty"`
	}{p.Question.withoutPlace(), p.Kind, p.Rig, p.Fault, p.OneNode, p.Sector})
	if err != nil {
		panic(err) // strings and numbers can be written
	}
	sum := sha256.Sum256(key)
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return '_'
	}, p.Store)
	parts := []string{name, string(p.Class), p.Kind}
	for _, part := range []string{p.FileSystem, p.Fault} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(append(parts, hex.EncodeToString(sum[:6])), "-")
}

// ofPlace are settings that a server tells of where it was started, and not of how: each start has
// other ones, and the question stays the same.
var ofPlace = []string{"port", "listen", "store_dir", "max_file_store", "max_memory_store"}

// withoutPlace leaves such settings out.
func (q Question) withoutPlace() Question {
	if q.Settings != nil {
		q.Settings = maps.Clone(q.Settings)
		maps.DeleteFunc(q.Settings, func(name, _ string) bool { return slices.Contains(ofPlace, name) })
	}
	return q
}

// CaseDirectory is where the smallest failing case of a proof is kept.
func (p *Proof) CaseDirectory() (string, error) {
	directory, err := Directory()
	return filepath.Join(directory, p.ID()+".case"), err
}

const (
	extension = ".json"
	bytesMax  = 1 << 20 // of a file
)

// Save keeps a proof, unless a better one of the same question is there: a refutation, or one by more
// cuts. It returns the proof that is there now.
func Save(p Proof) (Proof, error) {
	directory, err := Directory()
	if err != nil {
		return p, err
	}
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return p, fmt.Errorf("keep a proof: %w", err)
	}
	path := filepath.Join(directory, p.ID()+extension)
	before, err := read(path)
	switch {
	case err == nil && !before.Kept && p.Kept, err == nil && before.Kept == p.Kept && before.Cuts > p.Cuts:
		return before, nil
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return p, fmt.Errorf("keep a proof: %w", err)
	}
	text, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return p, err
	}
	return p, replace(path, append(text, '\n'))
}

// replace writes a file so that a reader sees the old one or the new one.
func replace(path string, text []byte) error {
	err := owned.Replace(path, 0o600, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
	if err != nil {
		return fmt.Errorf("keep a proof: %w", err)
	}
	return nil
}

func read(path string) (p Proof, err error) {
	text, err := bounded.ReadFile(path, bytesMax)
	if err != nil {
		return p, err
	}
	if err := json.Unmarshal(text, &p); err != nil {
		return p, fmt.Errorf("proof %s: %w", path, err)
	}
	return p, nil
}

// All returns the proofs that are kept, by name. One that can't be read is left out, and told of in
// the error.
func All() (all []Proof, err error) {
	directory, err := Directory()
	if err != nil {
		return nil, err
	}
	paths, err := filepath.Glob(filepath.Join(directory, "*"+extension))
	if err != nil {
		return nil, err
	}
	slices.Sort(paths)
	for _, path := range paths {
		p, readErr := read(path)
		if readErr != nil {
			err = errors.Join(err, readErr)
			continue
		}
		all = append(all, p)
	}
	return all, err
}

// Where is the file system whose disk was cut off, with its mount options.
func (p *Proof) Where() string {
	if p.MountOptions != "" {
		return fmt.Sprintf("%s (%s)", p.FileSystem, p.MountOptions)
	}
	return p.FileSystem
}

// Text says what was proved: "proved by 200 cuts on ext4", "refuted: lost 12 of 100 records …".
func (p *Proof) Text() string {
	if p.NoPromise {
		return fmt.Sprintf("no promise; loss measured in %d cuts on %s", p.Cuts, p.Where())
	}
	if !p.Kept {
		return "refuted: " + p.Why
	}
	by := map[string]string{Kill: "kills", Power: "cuts"}[p.Kind]
	if p.OneNode {
		by += fmt.Sprintf(" of one of %d servers", p.Servers)
		if p.NotBack > 0 {
			by += fmt.Sprintf(" (which did not start again after %d)", p.NotBack)
		}
	}
	if p.Sector > 0 {
		by += fmt.Sprintf(" of a disk with sectors of %d bytes", p.Sector)
	}
	if p.Fault != "" {
		by += " after a " + p.Fault
	}
	if p.FileSystem != "" {
		return fmt.Sprintf("proved by %d %s on %s", p.Cuts, by, p.Where())
	}
	return fmt.Sprintf("proved by %d %s", p.Cuts, by)
}
