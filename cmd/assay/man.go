package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func manCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write manual pages, one for each command",
		Long: `Writes manual pages (section 1) into a directory, which is made if it is not there:
assay.1, and one for each command, such as assay-run.1. They say what --help says.`,
		Example: `  assay man ~/.local/share/man/man1 && man assay-run`,
		Args:    takes(1, 1, "the directory for the pages"),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
		RunE: func(c *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return usage(fmt.Errorf("making the directory for the pages: %w", err))
			}
			pages := 0
			for _, command := range append([]*cobra.Command{c.Root()}, c.Root().Commands()...) {
				if command.Hidden || isTopic(command) || command.Name() == "help" || command.Name() == "completion" {
					continue // for Assay itself, or cobra's own
				}
				path := filepath.Join(args[0], pageName(command)+".1")
				if err := writeTarget(path, c.OutOrStdout(), func(w io.Writer) error {
					return manPage(w, command)
				}); err != nil {
					return failed(err)
				}
				pages++
			}
			_, err := fmt.Fprintf(c.OutOrStdout(), "wrote %d pages to %s\n", pages, args[0])
			return failed(err)
		},
	}
}

func pageName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// manPage writes what --help says as a page in man(7)'s macros.
func manPage(w io.Writer, c *cobra.Command) error {
	var b bytes.Buffer
	section := func(title string) { fmt.Fprintf(&b, ".SH %s\n", title) }
	verbatim := func(text string) { fmt.Fprintf(&b, ".nf\n%s\n.fi\n", roff(strings.Trim(text, "\n"))) }
	fmt.Fprintf(&b, ".TH %s 1 \"\" \"Assay\" \"User Commands\"\n", strings.ToUpper(roff(pageName(c))))
	section("NAME")
	fmt.Fprintf(&b, "%s \\- %s\n", roff(pageName(c)), roff(c.Short))
	section("SYNOPSIS")
	verbatim(c.UseLine())
	section("DESCRIPTION")
	verbatim(c.Long)
	if c.LocalFlags().HasAvailableFlags() {
		section("OPTIONS")
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			value, help := pflag.UnquoteUsage(f)
			fmt.Fprintf(&b, ".TP\n\\fB%s\\fR \\fI%s\\fR\n%s\n", roff("--"+f.Name), roff(value), roff(help))
		})
	}
	if c.Example != "" {
		section("EXAMPLES")
		verbatim(c.Example)
	}
	var others []string
	for _, other := range c.Commands() {
		if !other.Hidden && !isTopic(other) && other.Name() != "help" && other.Name() != "completion" {
			others = append(others, roff(pageName(other))+"(1)")
		}
	}
	if c.HasParent() {
		others = append(others, "assay(1)")
	}
	section("SEE ALSO")
	fmt.Fprintln(&b, strings.Join(others, ", "))
	_, err := w.Write(b.Bytes())
	return err
}

// roff escapes what troff would take for its own: backslashes, hyphens, and dots and quotes at the
// start of a line.
func roff(text string) string {
	lines := strings.Split(strings.NewReplacer(`\`, `\e`, `-`, `\-`).Replace(text), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
