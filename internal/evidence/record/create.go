package record

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"assay/internal/experiment"
	"assay/internal/experiment/plan"
)

// Create makes the run directory, or takes an empty one, and writes everything that is known before
// the first trial: source is the experiment file as it was given. It never writes over anything: a
// directory that holds something is an error that says what to do instead. The directory stays
// locked until [Writer.Close].
func Create(directory string, source []byte, experiment *experiment.Experiment, trials []plan.Trial,
	environment Environment) (*Writer, error) {
	for i, trial := range trials {
		if err := checkTrialID(trial.ID); err != nil {
			return nil, fmt.Errorf("trial %d of the plan: %w", i+1, err)
		}
	}
	resolved, err := indented(experiment)
	if err != nil {
		return nil, fmt.Errorf("write down the experiment: %w", err)
	}
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return nil, fmt.Errorf("make the run directory: %w", err)
	}
	// Looked at before the lock file would be made in a directory that is not Assay's, and again
	// once no other process can write there.
	if err := checkEmpty(directory); err != nil {
		return nil, err
	}
	locked, err := takeLock(directory)
	if err != nil {
		return nil, err
	}
	if err := checkEmpty(directory); err != nil {
		locked.release()
		return nil, err
	}
	if trials == nil {
		trials = []plan.Trial{}
	}
	planned, err := indented(trials)
	if err != nil {
		return nil, fmt.Errorf("write down the plan: %w", err)
	}
	header := Header{
		Format:  FormatVersion,
		ID:      randomID(),
		Created: time.Now().UTC().Truncate(time.Millisecond),
		Name:    experiment.Name,
		Hash:    digestOf(resolved),
		Plans:   []string{digestOf(planned)},
	}
	observed, err := indented(environment)
	if err != nil {
		return nil, fmt.Errorf("write down the environment: %w", err)
	}
	header.Environment = digestOf(observed)
	if err := fill(directory, header, source, resolved, planned, observed); err != nil {
		locked.release()
		return nil, fmt.Errorf("make the run directory: %w", err)
	}
	w, err := newWriter(directory, header, trials, locked)
	if err != nil {
		return nil, err
	}
	if err := w.Event(EventStarted, "", ""); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

// fill writes the header first: from then on, the directory is known to be Assay's.
func fill(directory string, header Header, source, resolved, planned, environment []byte) error {
	if err := writeHeader(directory, header); err != nil {
		return err
	}
	if err := writeWhole(filepath.Join(directory, SourceFile), source); err != nil {
		return err
	}
	if err := writeWhole(filepath.Join(directory, experimentFile), resolved); err != nil {
		return err
	}
	if err := writeWhole(filepath.Join(directory, environmentFile), environment); err != nil {
		return err
	}
	if err := os.Mkdir(filepath.Join(directory, trialsDirectory), 0o755); err != nil {
		return diskFull(err)
	}
	return writeWhole(filepath.Join(directory, planFile), planned)
}

// writeHeader writes run.json with its own seal in it.
func writeHeader(directory string, header Header) error {
	header.Seal = ""
	data, err := indented(header)
	if err == nil {
		header.Seal = digestOf(data)
		data, err = indented(header)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", headerFile, err)
	}
	return writeWhole(filepath.Join(directory, headerFile), data)
}

// isSealed reports whether run.json is as it was written: the digest in it is that of its text without the
// digest. A field of another version is a part of that text, so that its header holds too.
func (h *Header) isSealed(data []byte) bool {
	return digestOf(bytes.Replace(data, []byte(`"`+h.Seal+`"`), []byte(`""`), 1)) == h.Seal
}

// checkEmpty passes a directory that holds nothing, or only a lock whose owner got no further.
func checkEmpty(directory string) error {
	entries, err := os.ReadDir(directory)
	if err != nil {
		return fmt.Errorf("make the run directory: %w", err)
	}
	var other string
	for _, entry := range entries {
		if entry.Name() != lockFile {
			other = entry.Name()
			break
		}
	}
	if other == "" {
		return nil
	}
	header, err := readHeader(directory)
	switch {
	case err == nil:
		return fmt.Errorf("%s already holds a run of %q, begun %s: give another --out, or go on with that run: --resume %s",
			directory, header.Name, header.Created.Format(time.DateTime+" MST"), directory)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s is not empty and Assay did not make it (it holds %s): give another --out", directory, other)
	}
	return fmt.Errorf("%s is not empty: give another --out (%w)", directory, err)
}

// checkTrialID passes what can be the name of a directory on every file system.
func checkTrialID(id string) error {
	const longest = 200 // leaves room within 255 bytes for what is put behind it
	switch {
	case id == "":
		return errors.New("a trial's ID is empty")
	case len(id) > longest:
		return fmt.Errorf("trial ID %q has %d bytes, more than %d", id, len(id), longest)
	case strings.HasPrefix(id, "."):
		return fmt.Errorf("trial ID %q begins with a dot", id)
	case strings.ContainsAny(id, "/\\\x00\n"):
		return fmt.Errorf("trial ID %q can't be the name of a directory", id)
	}
	return nil
}

func randomID() string {
	var id [6]byte
	rand.Read(id[:]) // never fails: crypto/rand
	return hex.EncodeToString(id[:])
}

// readHeader reads run.json and refuses formats that this version of Assay does not know.
func readHeader(directory string) (Header, error) {
	files, err := openReader(directory)
	if err != nil {
		return Header{}, err
	}
	defer files.close()
	return files.readHeader()
}

func (r reader) readHeader() (Header, error) {
	data, err := r.read(headerFile, smallBytesMax)
	if err != nil {
		return Header{}, err
	}
	var header Header
	if err := json.Unmarshal(data, &header); err != nil {
		return Header{}, damaged(headerFile, data, 1, err)
	}
	header.changed = header.Seal == "" && header.Environment != "" || header.Seal != "" && !header.isSealed(data)
	switch {
	case header.Format < 1:
		return Header{}, fmt.Errorf("%s has no assay_run_format: Assay did not write it", headerFile)
	case header.Format > FormatVersion:
		return Header{}, fmt.Errorf("%s has format %d; this version of Assay reads formats up to %d: use a newer one", headerFile, header.Format, FormatVersion)
	}
	return header, nil
}
