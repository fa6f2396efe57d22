package html

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"assay/internal/presentation/model"
)

// Locate sets the links to raw data for a page in the file htmlFile. They are relative URLs: a
// character that would mean something else in one is escaped.
func Locate(r *model.Result, htmlFile string) error {
	folder, err := filepath.Abs(filepath.Dir(htmlFile))
	if err != nil {
		return fmt.Errorf("finding the folder of %s: %w", htmlFile, err)
	}
	type move struct{ from, to string }
	moves := map[string]move{}
	for i := range r.Runs {
		run := &r.Runs[i]
		directory, err := filepath.Abs(run.Directory)
		if err != nil {
			return fmt.Errorf("finding the run directory %s: %w", run.Directory, err)
		}
		base, err := filepath.Rel(folder, directory)
		if err != nil {
			return fmt.Errorf("linking %s to %s: %w", htmlFile, run.Directory, err)
		}
		to := ""
		if base != "." {
			to = (&url.URL{Path: filepath.ToSlash(base) + "/"}).String()
		}
		moves[run.ID] = move{run.Base, to}
		run.Base = to
	}
	for i := range r.Trials {
		if t := &r.Trials[i]; t.Link != "" {
			t.Link = moves[t.Run].to + strings.TrimPrefix(t.Link, moves[t.Run].from)
		}
	}
	return nil
}
