package owned

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"assay/internal/base/bounded"
)

// gitPatience is how long Git may take to take a checkout away.
const gitPatience = 5 * time.Minute

// NewWorktree notes a checkout in a temporary directory. The caller makes it, by git worktree add.
func NewWorktree(repository, path string) (*Note, error) {
	absolute, err := filepath.Abs(repository)
	if err != nil {
		return nil, err
	}
	return Write(Thing{Kind: Worktree, Path: path, By: absolute})
}

// RemoveWorktree removes a checkout, and what its repository knows of it.
func RemoveWorktree(ctx context.Context, t Thing) error {
	if !IsTemporary(filepath.Dir(t.Path)) {
		return errors.New("it does not stand in a temporary directory of Assay's")
	}
	ctx, cancel := context.WithTimeout(ctx, gitPatience)
	defer cancel()
	git := func(arguments ...string) error {
		out, err := bounded.Output(exec.CommandContext(ctx, "git", append([]string{"-C", t.By, "worktree"}, arguments...)...))
		if err != nil {
			return fmt.Errorf("git worktree %s: %w: %s", arguments[0], err, strings.TrimSpace(string(out)))
		}
		return nil
	}
	if git("remove", "--force", "--force", t.Path) == nil {
		return nil
	}
	// It was made in part, or is gone already.
	return errors.Join(RemoveAll(t.Path), git("prune"))
}
