package record

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// digestsFile holds a digest for each file of a trial that has ended, in the form of sha256sum(1),
// so that `sha256sum -c SHA256SUMS` holds them too. It is written before trial.json: a trial with a
// result has digests.
const digestsFile = "SHA256SUMS"

// sealedFiles are the files of a trial that have digests. trial.json is not there yet when they are
// written.
var sealedFiles = []string{trialFile, seriesFile, logFile}

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// digestOfFile reads a file piece by piece: a series may be long.
func digestOfFile(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	sum := sha256.New()
	_, err = io.Copy(sum, file)
	return hex.EncodeToString(sum.Sum(nil)), err
}

// writeDigests seals a trial whose result is going to be text.
func writeDigests(directory string, text []byte) error {
	var sums strings.Builder
	for _, name := range sealedFiles {
		digest := digestOf(text)
		if name != trialFile {
			var err error
			if digest, err = digestOfFile(filepath.Join(directory, name)); err != nil {
				return err
			}
		}
		fmt.Fprintf(&sums, "%s  %s\n", digest, name)
	}
	return writeWhole(filepath.Join(directory, digestsFile), []byte(sums.String()))
}

// holdDigests tells of each file of a trial with a result that is not as it was when the trial
// ended.
func (r *Run) holdDigests(files reader, id string) {
	directory := filepath.Join(trialsDirectory, id)
	text, err := files.read(filepath.Join(directory, digestsFile), smallBytesMax)
	if err != nil {
		r.fault(FaultChanged, filepath.Join(directory, digestsFile), id, fmt.Sprintf("the digests of the trial can't be read: %v", err))
		return
	}
	sums := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if sum, name, found := strings.Cut(strings.TrimSuffix(line, "\n"), "  "); found {
			sums[name] = sum
		}
	}
	for _, name := range sealedFiles {
		path := filepath.Join(directory, name)
		data, err := files.read(path, linesBytesMax)
		switch {
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			r.fault(FaultChanged, path, id, fmt.Sprintf("it can't be read: %v", err))
		case err != nil:
			r.fault(FaultChanged, path, id, "it is gone")
		case digestOf(data) != sums[name]:
			r.fault(FaultChanged, path, id, "it is not as it was when the trial ended: its SHA-256 is another than in "+digestsFile)
		}
	}
}
