package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"assay/internal/base/bounded"
	"assay/internal/base/owned"
	"assay/internal/execution/child"
	"assay/internal/experiment"
)

// Recipe is how a server's program is built of its source.
type Recipe struct {
	Make     string   // a line of a shell, in the source's directory
	Programs []string // that it makes, by their paths there: the first that is there is taken
}

// CommitVariable names the commit of which a server is built where the experiment names none: so one
// experiment, byte for byte, measures one commit after the other.
const CommitVariable = "ASSAY_COMMIT"

// buildLinesKept is how much of a failed build is shown: compilers say what is wrong before make does.
const buildLinesKept = 15

// Build returns the program of a server of a commit. What was built of a commit by the same line is kept
// in the user's cache. The source's repository is read, and nothing in it is written: the source is
// checked out elsewhere, and goes where the build fails or ctx ends. say tells that a build begins.
func Build(ctx context.Context, b experiment.Build, say func(string)) (built experiment.Built, err error) {
	wrong := func(err error) (experiment.Built, error) {
		return experiment.Built{}, fmt.Errorf("building %s of %s: %w", b.CommitText(), b.Git, err)
	}
	commit, objects, err := commitOf(ctx, b)
	if err != nil {
		return wrong(err)
	}
	place, err := buildPlace(b, commit)
	if err != nil {
		return wrong(err)
	}
	if program := programIn(place, b.Programs); program != "" {
		return experiment.Built{Path: program, Commit: commit}, nil
	}
	fresh, err := owned.NewDirectory(filepath.Dir(place), "build")
	if err != nil {
		return wrong(err)
	}
	defer func() { err = errors.Join(err, fresh.Remove()) }()
	say(fmt.Sprintf("building %s of %s: %s", shortCommit(commit), b.Git, b.Make))
	tree := filepath.Join(fresh.Path, "tree")
	if err := checkOut(ctx, tree, objects, commit); err != nil {
		return wrong(err)
	}
	if err := runMake(ctx, tree, b.Make); err != nil {
		return wrong(err)
	}
	if programIn(tree, b.Programs) == "" {
		return wrong(fmt.Errorf("%s made no program at %s", b.Make, strings.Join(b.Programs, ", or ")))
	}
	if err := errors.Join(os.RemoveAll(place), os.Rename(tree, place)); err != nil && programIn(place, b.Programs) == "" {
		return wrong(err) // or another process was faster
	}
	return experiment.Built{Path: programIn(place, b.Programs), Commit: commit}, nil
}

// commitOf returns the whole name of a commit, and where its repository keeps objects.
func commitOf(ctx context.Context, b experiment.Build) (commit, objects string, err error) {
	asked := b.Commit
	if asked == "" {
		asked = os.Getenv(CommitVariable)
	}
	if asked == "" {
		asked = "HEAD"
	}
	if _, err := exec.LookPath("git"); err != nil {
		return "", "", fmt.Errorf("it needs git: %w", err)
	}
	if common, err := git(ctx, b.Git, "rev-parse", "--git-common-dir"); err != nil {
		return "", "", err
	} else if objects = filepath.Join(common, "objects"); !filepath.IsAbs(objects) {
		objects = filepath.Join(b.Git, objects)
	}
	if commit, err = git(ctx, b.Git, "rev-parse", "--verify", "--quiet", asked+"^{commit}"); err != nil {
		return "", "", fmt.Errorf("%q is no commit of the repository", asked)
	}
	return commit, objects, nil
}

// buildPlace returns the directory in which a build is kept. Its parent is made, where a server that does
// not run as root has access to it.
func buildPlace(b experiment.Build, commit string) (string, error) {
	cache := os.Getenv("XDG_CACHE_HOME")
	if !filepath.IsAbs(cache) {
		if cache = "/var/cache"; os.Geteuid() != 0 {
			home, err := os.UserHomeDir()
			if err != nil {
				return "", fmt.Errorf("finding a place for builds: %w", err)
			}
			cache = filepath.Join(home, ".cache")
		}
	}
	how := sha256.Sum256([]byte(b.Git + "\x00" + b.Make))
	place := filepath.Join(cache, "assay", "builds", shortCommit(commit)+"-"+hex.EncodeToString(how[:])[:12])
	return place, os.MkdirAll(filepath.Dir(place), 0o755)
}

func programIn(tree string, programs []string) string {
	for _, program := range programs {
		if path := filepath.Join(tree, program); executable(path) {
			return path
		}
	}
	return ""
}

// checkOut writes the files of a commit into a repository of its own, which borrows the objects.
func checkOut(ctx context.Context, tree, objects, commit string) error {
	if err := os.Mkdir(tree, 0o755); err != nil {
		return err
	}
	if _, err := git(ctx, tree, "init", "--quiet"); err != nil {
		return err
	}
	borrowed := filepath.Join(tree, ".git", "objects", "info", "alternates")
	if err := errors.Join(os.MkdirAll(filepath.Dir(borrowed), 0o755), os.WriteFile(borrowed, []byte(objects+"\n"), 0o644)); err != nil {
		return err
	}
	_, err := git(ctx, tree, "checkout", "--quiet", "--detach", commit)
	return err
}

// runMake runs a build, and ends all of it when ctx ends.
func runMake(ctx context.Context, tree, line string) error {
	o := &output{log: io.Discard, keep: buildLinesKept}
	command := exec.Command("sh", "-c", line)
	command.Dir, command.Env = tree, environmentOfGit()
	command.Stdout, command.Stderr = o, o
	command.WaitDelay = outputPatience
	p, err := child.Start(command, child.Options{})
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, p.Kill)
	_, err = p.Wait()
	stop()
	o.end()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("%s: %w; its last lines:\n%s", line, err, o.lastLines("  "))
	}
	return nil
}

// git asks Git, and returns what it prints, or says what it says.
func git(ctx context.Context, directory string, arguments ...string) (string, error) {
	command := exec.CommandContext(ctx, "git", append([]string{"-C", directory}, arguments...)...)
	command.Env = environmentOfGit()
	said, err := bounded.Output(command)
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil {
		return "", fmt.Errorf("git %s: %w%s", arguments[0], err, lastPrinted(said))
	}
	return strings.TrimSpace(string(said)), nil
}

// environmentOfGit is this process's, without what a hook of Git sets for its own repository.
func environmentOfGit() []string {
	return slices.DeleteFunc(os.Environ(), func(setting string) bool {
		return strings.HasPrefix(setting, "GIT_DIR=") || strings.HasPrefix(setting, "GIT_INDEX_FILE=") || strings.HasPrefix(setting, "GIT_WORK_TREE=")
	})
}

func shortCommit(commit string) string { return commit[:min(len(commit), 12)] }

// BuildFor builds the programs of those of the stores that ask for it, and notes them there.
func BuildFor(ctx context.Context, say func(string), stores ...*experiment.Store) error {
	stores = slices.DeleteFunc(stores, func(s *experiment.Store) bool {
		return s.Server == nil || s.Server.Build == nil
	})
	for _, s := range stores { // before the first is built, which takes minutes
		if _, _, err := commitOf(ctx, *s.Server.Build); err != nil {
			return fmt.Errorf("%s: building %s of %s: %w", s.Name, s.Server.Build.CommitText(), s.Server.Build.Git, err)
		}
	}
	for _, s := range stores {
		built, err := Build(ctx, *s.Server.Build, say)
		if err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
		s.Server.Built = &built
	}
	return nil
}
