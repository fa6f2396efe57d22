// Command assay measures key-value stores so that the number can be trusted. Each subcommand has a
// file of its own here, which reads flags and wires packages; nothing else is done here.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"assay/internal/base/format"
	"assay/internal/base/secret"
	"assay/internal/execution/run"
	"assay/internal/experiment/read"
	"assay/internal/presentation/live"
	"assay/store"
)

// Exit statuses. DESIGN names them, scripts rely on them.
const (
	exitFailed = 1 // Assay itself failed
	exitUsage  = 2 // bad arguments, or an experiment that can't be
	exitTrials = 3 // trials failed, were marked, or are left to do; or no store could do what was asked
	// 4 and 5 are those of package compare: a regression, or inconclusive.
)

// exitError ends the program with a status. Its text may be empty where everything was said
// already.
type exitError struct {
	status int
	err    error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}
func (e *exitError) Unwrap() error { return e.err }

func usage(err error) error { return &exitError{exitUsage, err} }

// failed makes an error, if it is one, Assay's own failure.
func failed(err error) error {
	if err == nil {
		return nil
	}
	return &exitError{exitFailed, err}
}

func main() { os.Exit(guarded(func() int { return execute(os.Args[1:]) })) }

// guarded makes a panic, and a fault in a mapped file, a failure of Assay: Go's own status would be
// 2, that of bad arguments.
func guarded(do func() int) (status int) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if trouble := recover(); trouble != nil {
			// The first line is that of a Go panic: the conductor quotes it from a worker that
			// dies.
			fmt.Fprintf(os.Stderr, "panic: %v\n\nassay: this is a bug in Assay\n%s", trouble, debug.Stack())
			status = exitFailed
		}
	}()
	return do()
}

// execute runs the command and returns the exit status.
func execute(args []string) int {
	out := &output{file: os.Stdout}
	root := command(out)
	args, said := familiar(root, args)
	if said != "" {
		fmt.Fprintln(os.Stderr, "assay: note:", format.CleanLines(secret.Text(said)))
	}
	root.SetArgs(args)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return flagError(c, args, err) })
	err := root.Execute()
	if out.err != nil {
		err = failed(out.err) // whatever else there was to say: who asked has not got it
	}
	if err == nil {
		return 0
	}
	var exit *exitError
	if !errors.As(err, &exit) {
		exit = &exitError{exitUsage, unknownCommand(root, args, err)} // what cobra itself refuses
	}
	if text := exit.Error(); text != "" {
		fmt.Fprintln(os.Stderr, "assay:", format.CleanLines(secret.Text(text))) // it may quote a file, a store or a server
	}
	return exit.status
}

// interruptible returns a context that ends at the first Ctrl-C, SIGTERM or SIGHUP; the second one
// ends the program at once. A reader of its output that goes away doesn't end it: there is work to
// be kept. announce is called at the first, with the text for the user.
func interruptible(whatIsKept string, announce func(text string)) (context.Context, context.CancelFunc) {
	// writes then fail with EPIPE, and workers still inherit the default
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, cancel := context.WithCancelCause(context.Background())
	stop := live.Interrupts(func(s os.Signal) {
		announce("stopping; " + whatIsKept + " (Ctrl-C again: at once)")
		cancel(run.Stopped{Signal: unix.SignalName(s.(syscall.Signal))})
	}, func() { os.Exit(130) }) // workers die with their conductor, and what was recorded stands on the disk
	return ctx, func() { stop(); cancel(nil) }
}

func command(out io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:   "assay",
		Short: "Measure key-value stores so that the number can be trusted",
		Long: `Assay drives the same operations, byte for byte, at embedded engines, servers and
client libraries, checks every value that it reads and every write that was
acknowledged, and says which is faster, by how much, at what durability, and why.

Begin with:
  assay run bbolt pebble       compare two stores, in about two minutes
  assay run put-get            a preset: compare all embedded engines
  assay init my.yaml           write a commented experiment of your own
  assay run my.yaml --dry-run  see what it would do

Exit status: 0 fine · 1 Assay failed, or could not write · 2 bad arguments or
experiment · 3 trials failed, were marked, or are left to do (Ctrl-C) ·
4 regression · 5 inconclusive · 130 Ctrl-C a second time: ended at once.
Results go to standard output, progress to standard error.`,
		SilenceErrors: true, SilenceUsage: true, DisableSuggestions: true,
		Version: version(),
	}
	root.SetOut(out)
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), "Flags.FlagUsages ", fmt.Sprintf("Flags.FlagUsagesWrapped %d ", widthElsewhere)))
	root.AddCommand(runCommand(), capacityCommand(), tuneCommand(), chooseCommand(), crashCommand(),
		reportCommand(), serveCommand(), compareCommand(), historyCommand(), analyzeCommand(),
		profileCommand(), driversCommand(), presetsCommand(), listCommand(), initCommand(),
		schemaCommand(), doctorCommand(), conformanceCommand(), workerCommand(), agentCommand(),
		manCommand(), versionCommand(), natsServerCommand(), rigCommand())
	root.AddCommand(topics()...)
	root.InitDefaultHelpCmd()
	if help, _, err := root.Find([]string{"help"}); err == nil {
		show := help.Run
		help.Run, help.RunE = nil, func(c *cobra.Command, args []string) error {
			if found, rest, err := root.Find(args); err != nil || found == nil || len(rest) > 0 {
				return usage(unknownCommand(root, args, fmt.Errorf("unknown command %q", strings.Join(args, " "))))
			}
			show(c, args)
			return nil
		}
	}
	root.InitDefaultCompletionCmd()
	if completion, _, err := root.Find([]string{"completion"}); err == nil {
		completion.RunE = func(*cobra.Command, []string) error {
			return usage(errors.New("assay completion takes a shell\nexpected bash, zsh, fish or powershell"))
		}
	}
	return root
}

// unknownCommand puts the nearest command below what cobra says of an unknown one.
func unknownCommand(root *cobra.Command, args []string, err error) error {
	if !strings.HasPrefix(err.Error(), "unknown command") || len(args) == 0 {
		return err
	}
	parent, rest, findErr := root.Find(args)
	if findErr != nil || len(rest) == 0 {
		parent, rest = root, args
	}
	var names []string
	for _, c := range parent.Commands() {
		if !c.Hidden && !isTopic(c) {
			names = append(names, c.Name())
		}
	}
	if meant, known := unknownWord(args); known && parent == root {
		return fmt.Errorf("unknown command %q\n%s", rest[0], expected(meant))
	}
	return fmt.Errorf("unknown command %q%s", rest[0], suggestion(rest[0], names))
}

// ambiguousFlags are names that may mean several flags.
var ambiguousFlags = map[string]string{
	"size": "--values (the length of a value) or --records",
	"keys": "--records, or --set keys.bytes=16", "memory": "--memory-limit",
	"stores": "the drivers as arguments, or --set 'stores=[bbolt, pebble]'",
	"fsync":  "--durability", "sync": "--durability", "key-size": "--set keys.bytes=16",
}

// flagError says what cobra refuses in a command's flags, with the nearest flag that there is and
// where to read on. Several unknown flags are reported at once: args are the whole command's.
func flagError(c *cobra.Command, args []string, err error) error {
	text := err.Error()
	if unknown := unknownFlags(c, args); len(unknown) > 1 {
		text = "unknown flags:"
		for _, flag := range unknown {
			text += "\n  " + flag
			if hint := flagHint(c, flag); hint != "" {
				text += ": " + hint
			}
		}
		return usage(fmt.Errorf("%s\n%s --help shows all flags", text, c.CommandPath()))
	}
	if unknown, is := strings.CutPrefix(text, "unknown flag: "); is {
		if hint := flagHint(c, unknown); hint != "" {
			text += "\n" + hint
		}
	}
	if flag := c.Flags().Lookup(strings.TrimPrefix(text, "flag needs an argument: --")); flag != nil {
		value, _ := pflag.UnquoteUsage(flag)
		text += fmt.Sprintf("\nexpected --%s %s", flag.Name, strings.ToUpper(value))
	}
	if _, typed, is := strings.Cut(text, "unknown shorthand flag: "); is { // "'t' in -threads": only the first letter counts for cobra
		_, word, _ := strings.Cut(typed, " in ")
		word, _, _ = strings.Cut(word, "=")
		text = "unknown flag: " + word
		if hint := flagHint(c, word); hint != "" {
			text += "\n" + hint
		}
	}
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		if wanted, is := strings.CutPrefix(invalid.Unwrap().Error(), "must be "); is {
			text = fmt.Sprintf("--%s: expected %s, got %q", invalid.GetFlag().Name, wanted, invalid.GetValue())
		}
	}
	return usage(fmt.Errorf("%s\n%s --help shows all flags", text, c.CommandPath()))
}

// unknownFlags are the flags of a command line that the command has not, each as it was typed, without its
// value. What stands behind -- is no flag.
func unknownFlags(c *cobra.Command, args []string) (unknown []string) {
	for i := 0; i < len(args) && args[i] != "--"; i++ {
		word, _, valued := strings.Cut(args[i], "=")
		var flag *pflag.Flag
		switch name, long := strings.CutPrefix(word, "--"); {
		case long:
			flag = c.Flags().Lookup(name)
		case len(word) > 1 && word[0] == '-' && (word[1] < '0' || word[1] > '9'):
			flag = c.Flags().ShorthandLookup(word[1:2])
		default:
			continue
		}
		switch {
		case flag == nil && word != "--help" && word != "-h":
			unknown = append(unknown, word)
		case flag != nil && flag.NoOptDefVal == "" && !valued:
			i++ // its value
		}
	}
	return unknown
}

// flagHint says what an unknown flag, with its dashes, is here; "": nothing is near.
func flagHint(c *cobra.Command, typed string) string {
	word, long := strings.CutPrefix(typed, "--")
	if !long {
		return shorthandHint(c, strings.TrimPrefix(typed, "-"))
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	unknown, _, _ := strings.Cut(word, "=")
	meant, habit := habitOf(c.Name(), unknown)
	if ambiguous := ambiguousFlags[unknown]; ambiguous != "" && c.Name() == "run" {
		meant, habit = ambiguous, true
	}
	if field := strings.ReplaceAll(unknown, "-", "_"); !habit && c.Name() == "run" && read.IsField(field) {
		meant, habit = "--set "+field+"=VALUE (assay init my.yaml writes a file with all fields)", true
	}
	if habit {
		return expected(meant)
	}
	if name := optionOf(strings.ReplaceAll(unknown, "-", "_")); name != "" && c.Name() == "run" {
		return fmt.Sprintf("expected an option of a store in brackets: assay run '%s[%s=VALUE]'", name, strings.ReplaceAll(unknown, "-", "_"))
	}
	if near := format.Nearest(unknown, names); near != "" {
		return "did you mean --" + near + "?"
	}
	return ""
}

// optionOf is the first driver that has an option of the name; "": none has.
func optionOf(name string) string {
	for _, d := range descriptions() {
		if slices.ContainsFunc(d.Options, func(o store.Option) bool { return o.Name == name }) {
			return d.Name
		}
	}
	return ""
}

// expected says what is right in place of a flag, or why there is none.
func expected(meant string) string {
	for _, none := range []string{"no flag: ", "no store: "} {
		if why, is := strings.CutPrefix(meant, none); is {
			return why
		}
	}
	return "expected " + meant
}

// shorthandHint is flagHint of a flag with one dash: the whole word counts for who typed it.
func shorthandHint(c *cobra.Command, word string) string {
	if c.Flags().Lookup(word) != nil {
		return "did you mean --" + word + "?"
	}
	meant, habit := habitOf(c.Name(), word)
	if letter := []rune(word); !habit && len(letter) > 1 {
		meant, habit = habitOf(c.Name(), string(letter[:1])) // -t8
	}
	if habit {
		return expected(meant)
	}
	return ""
}

// takes checks the number of arguments; what names them in the message.
func takes(least, most int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) < least || len(args) > most {
			return usage(fmt.Errorf("%s takes %s, got %d\n%s --help shows examples", c.CommandPath(), what, len(args), c.CommandPath()))
		}
		return nil
	}
}
