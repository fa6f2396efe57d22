package crash

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"assay/internal/base/bounded"
	"assay/internal/evidence/audit"
	"assay/internal/execution/powercut"
	"assay/internal/execution/server"
)

// Case is a power cut that broke a promise, with all that is needed to look at it again: the disk as
// it was then, to the byte, and what was acknowledged. It is a directory of two files: this one, and
// the recording in the format of dm-log-writes.
type Case struct {
	Target     Target      `json:"target"`
	FileSystem string      `json:"file_system"`
	Mounted    string      `json:"mount_options,omitempty"`
	Rig        int         `json:"rig"` // version
	Bytes      int64       `json:"bytes"`
	From       int         `json:"from"` // events of the recording before it are durable
	At         int         `json:"at"`
	Keep       string      `json:"keep"`
	KeepSeed   uint64      `json:"keep_seed"`
	Sector     int64       `json:"sector_bytes,omitempty"`
	Ignores    bool        `json:"ignores_flushes,omitempty"`
	Seed       uint64      `json:"seed"` // of the operations
	Tag        uint32      `json:"tag"`
	Columns    bool        `json:"columns,omitempty"` // of the records
	Phases     []casePhase `json:"phases"`            // as they were at the cut
	Stamp      Stamp       `json:"stamp"`
	Cut        Cut         `json:"cut"` // what was found
	// Server is what is to be known of a server's; none: the store is embedded.
	Server []server.Remains `json:"server,omitempty"`
}

// casePhase is what is known of a phase beside its trace, which the seed makes anew.
type casePhase struct {
	Attempted    []uint64 `json:"attempted"`
	Acknowledged []uint64 `json:"acknowledged"`
	Doubt        []uint32 `json:"doubt"`
}

const (
	caseFile      = "case.json"
	recordingFile = "recording.dm-log-writes.zst"
	caseBytesMax  = 16 << 20
)

// diskCut is a cut of a disk of that size.
type diskCut struct {
	powercut.Cut
	bytes int64
}

// keep writes a case, in the place of a larger one.
func (t *tester) keep(rig *powercut.Rig, rec *recording, made diskCut, at Stamp, cut Cut) error {
	if t.options.CaseOf == nil || t.options.FileSystem == powercut.Strict || t.options.Fault != "" || t.kept != nil && t.kept.NS <= cut.NS {
		return nil
	}
	directory, err := t.options.CaseOf(t.result)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return fmt.Errorf("keep a failing case: %w", err)
	}
	base, err := rig.Export(made.Of, made.At, filepath.Join(directory, recordingFile))
	if err != nil {
		return fmt.Errorf("keep a failing case: %w", err)
	}
	c := Case{Target: *t.target, FileSystem: t.options.FileSystem, Mounted: t.options.MountOptions,
		Rig: powercut.Version, Bytes: made.bytes, From: base + made.From, At: base + made.At,
		Keep: string(made.Keep), KeepSeed: made.Seed, Ignores: made.IgnoresFlushes, Sector: made.SectorBytes,
		Seed: t.options.Seed, Tag: rec.tag, Columns: rec.columns, Stamp: at, Cut: cut}
	if rec.server != nil {
		c.Server = rec.server.Remains()
	}
	for _, p := range phasesAt(rec.phases, at) {
		c.Phases = append(c.Phases, casePhase{p.Attempted, p.Acknowledged, p.Doubt})
	}
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	t.kept, t.result.Case = &cut, directory
	// a server's password may stand in it
	return os.WriteFile(filepath.Join(directory, caseFile), append(text, '\n'), 0o600)
}

// ReadCase reads a case from its directory.
func ReadCase(directory string) (c Case, err error) {
	text, err := bounded.ReadFile(filepath.Join(directory, caseFile), caseBytesMax)
	if err != nil {
		return c, err
	}
	if err := json.Unmarshal(text, &c); err != nil {
		return c, fmt.Errorf("%s: %w", filepath.Join(directory, caseFile), err)
	}
	if c.Rig != powercut.Version {
		return c, fmt.Errorf("the case was made by version %d of the rig, this is version %d", c.Rig, powercut.Version)
	}
	return c, nil
}

// serverOf returns the server of a case, whose files will stand on the rig's disk; nil: it has none.
func serverOf(c *Case, rig *powercut.Rig, o Options) (*server.Group, error) {
	if len(c.Server) == 0 {
		return nil, nil
	}
	if err := c.Target.letIn(rig.Directory()); err != nil {
		return nil, err
	}
	program, err := o.program(c.Target.Store.Driver)
	if err != nil {
		return nil, err
	}
	if named := c.Target.Store.Server; named != nil {
		program = program.By(named.Binary())
	}
	return server.Left(program, filepath.Join(rig.Point(), storePlace), o.Log, c.Server)
}

// Replay makes the disk of a case again, and looks at it. same reports whether it is the same disk, to
// the byte.
func Replay(ctx context.Context, c *Case, directory string, o Options) (again Cut, same bool, err error) {
	rig, err := powercut.Start(o.DataRoot, c.FileSystem, c.Mounted, o.Rig)
	if err != nil {
		return again, false, err
	}
	defer rig.EndsWith(ctx)()
	defer func() { err = errors.Join(err, rig.Close()) }()
	path, err := filepath.Abs(filepath.Join(directory, recordingFile))
	if err != nil {
		return again, false, err
	}
	if err := rig.Adopt(recordedDisk, path, c.Bytes); err != nil {
		return again, false, err
	}
	o.IgnoresFlushes, o.FileSystem, o.Seed = c.Ignores, c.FileSystem, c.Seed
	t := &tester{ctx: ctx, target: &c.Target, options: o, result: &Result{}}
	steps, err := c.Target.workload(c.Seed, 1)
	if err != nil {
		return again, false, err
	}
	rec := &recording{disk: recordedDisk, tag: c.Tag, columns: c.Columns}
	if rec.server, err = serverOf(c, rig, o); err != nil {
		return again, false, err
	}
	for i, p := range c.Phases {
		if i >= len(steps) || len(p.Attempted) != len(steps[i].Threads) || len(p.Doubt) != len(p.Attempted) ||
			len(p.Acknowledged) != len(p.Attempted) {
			return again, false, errors.New("the case does not fit the operations that its seed makes: another version of Assay made it")
		}
		rec.phases = append(rec.phases, audit.Phase{Number: i, Trace: steps[i].File, Attempted: p.Attempted,
			Acknowledged: p.Acknowledged, Doubt: p.Doubt,
			NotIncremented: make([]uint64, len(p.Attempted)), ZeroVersions: i == phaseLoad})
	}
	again = Cut{Number: c.Cut.Number, Moment: c.Cut.Moment, Entry: c.Cut.Entry, NS: c.Cut.NS, Keep: c.Cut.Keep}
	const name = "replayed"
	again.Digest, err = rig.Cut(name, powercut.Cut{Of: recordedDisk, From: c.From, At: c.At,
		Keep: powercut.Keep(c.Keep), Seed: c.KeepSeed, IgnoresFlushes: c.Ignores, SectorBytes: c.Sector})
	if err != nil {
		return again, false, err
	}
	again.Check, err = t.look(rig, rec, name, Stamp{NS: c.Stamp.NS, Phase: len(rec.phases)})
	again.LossNS, again.LostAll = c.Cut.LossNS, c.Cut.LostAll // the moments before the cut are not kept
	return again, again.Digest == c.Cut.Digest, err
}
