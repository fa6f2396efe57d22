package main

import (
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"assay/drivers"
	"assay/internal/experiment/read"
	"assay/presets"
	"assay/store"
)

// Forms that users of other tools type, and that mean one thing alone, are taken for it; what may mean several
// things is refused with what it may be (habits.go). A note names what was taken for what.

// familiarCommands are other names of commands.
var familiarCommands = map[string]string{"ls": "list", "bench": "run", "benchmark": "run", "show": "report", "watch": "serve"}

// familiar returns a command line as it is here. said is what was typed in a form of other tools; "": nothing was.
func familiar(root *cobra.Command, args []string) (here []string, said string) {
	if len(args) == 0 {
		return args, ""
	}
	here = slices.Clone(args)
	if c, _, err := root.Find(here[:1]); err != nil || c == root {
		if meant := familiarCommands[here[0]]; meant != "" {
			here[0] = meant
		} else if isStoreOrPreset(here[0]) {
			here = append([]string{"run"}, here...)
		}
	}
	if c, _, err := root.Find(here[:1]); err == nil && (c.Name() == "run" || c.Name() == "capacity") {
		here = slices.Concat(here[:1], familiarRun(here[1:], c.Flags()))
	}
	if slices.Equal(here, args) {
		return args, ""
	}
	return here, "read as: assay " + shellWords(here)
}

// isStoreOrPreset reports whether a word can only be what assay run takes.
func isStoreOrPreset(word string) bool {
	return !strings.HasPrefix(word, "-") && (isDriverName(word) || slices.Contains(presets.Names(), word))
}

// letters are flags of one letter that have one meaning with a value of a form, in memtier_benchmark,
// redis-benchmark, wrk, hey and pgbench.
var letters = map[byte]struct {
	flag  string
	value *regexp.Regexp
}{
	't': {"--threads", wholeNumber}, 'c': {"--threads", wholeNumber}, 'n': {"--operations", wholeNumber},
	'd': {"--for", regexp.MustCompile(`^[0-9.]+(ms|s|m|h)$`)}, 'o': {"--out", regexp.MustCompile(`.`)},
}

var (
	wholeNumber = regexp.MustCompile(`^[0-9]+$`)
	// shownPercentiles are those that --full shows.
	shownPercentiles = regexp.MustCompile(`^p?(50|99|99\.9)(,p?(50|99|99\.9))*$`)
	// getsAndSets are tests of redis-benchmark: each is done by itself.
	getsAndSets = regexp.MustCompile(`(?i)^(get|set)(,(get|set))*$`)
)

// commandLine is one that is rewritten.
type commandLine struct {
	flags  *pflag.FlagSet // of the command: which of them take a value
	done   []string
	places []int // of the words in done that are no flags and no values of flags

	unknown bool // a flag that the command has not is left

	options []string // OPTION=VALUE that were given as flags
	asTyped []string // these flags
}

func (l *commandLine) add(words ...string) { l.done = append(l.done, words...) }

// familiarRun rewrites the words behind run.
func familiarRun(args []string, flags *pflag.FlagSet) []string {
	if unclear(args) || slices.Contains(args, "--") {
		return args
	}
	l := &commandLine{flags: flags}
	for i := 0; i < len(args); i++ {
		next, hasNext := "", i+1 < len(args)
		if hasNext {
			next = args[i+1]
		}
		taken := l.flag(args[i], next, hasNext)
		if taken < 0 {
			l.places = append(l.places, len(l.done))
			l.add(args[i])
			continue
		}
		i += taken
		for l.done[max(len(l.done)-2, 0)] == "--threads" && i+1 < len(args) && wholeNumber.MatchString(args[i+1]) { // --threads 1 2 4
			i++
			l.done[len(l.done)-1] += "," + args[i]
		}
	}
	if l.unknown { // the error tells of each flag, as it was typed
		return args
	}
	l.stores()
	return l.done
}

// unclear reports whether a command line has letters whose meanings depend on each other: the connections of
// each of so many threads.
func unclear(args []string) bool {
	var threads, connections bool
	for _, arg := range args {
		threads, connections = threads || strings.HasPrefix(arg, "-t"), connections || strings.HasPrefix(arg, "-c")
	}
	return threads && connections
}

// flag adds a flag, and returns how many of the words behind it are its value; -1: it is none.
func (l *commandLine) flag(arg, next string, hasNext bool) int {
	name, value, joined := strings.Cut(arg, "=")
	if !joined {
		value = next
	}
	taken := 1
	if joined {
		taken = 0
	}
	known := l.flags.Lookup(strings.TrimPrefix(name, "--"))
	switch {
	case !strings.HasPrefix(arg, "-") || arg == "-":
		return -1
	case !strings.HasPrefix(arg, "--") && len(arg) >= 2:
		return l.letter(arg, next, hasNext)
	case name == "--pipeline" && wholeNumber.MatchString(value):
		l.add("--handles", "async("+value+")")
		return taken
	case name == "--ratio" && ratio.MatchString(value): // of memtier_benchmark: SET:GET
		sets, gets, _ := strings.Cut(value, ":")
		l.add("--mix", "update="+sets+",read="+gets)
		return taken
	case known != nil && slices.Contains([]string{"for", "time"}, known.Name) && wholeNumber.MatchString(value): // seconds, as most tools have it
		l.add(name, value+"s")
		return taken
	case name == "--fsync" && (!joined || value == "always"):
		l.add("--durability", "D3")
		if !joined && next == "always" {
			return 1
		}
		return 0
	case (name == "--percentiles" || name == "--percentile") && shownPercentiles.MatchString(value):
		l.add("--full")
		return taken
	case name == "--prometheus" && !joined:
		l.add("--metrics", ":9464")
		return 0
	}
	option := value
	if name != "--option" && name != "--options" {
		option = strings.TrimPrefix(name, "--") + "=" + value
	}
	switch {
	case known == nil && (joined || hasNext && !strings.HasPrefix(next, "-")) && l.isOption(option):
		l.options = append(l.options, option)
		l.asTyped = append(l.asTyped, arg)
		if taken == 1 {
			l.asTyped = append(l.asTyped, next)
		}
		return taken
	case joined || known == nil || known.NoOptDefVal != "" || !hasNext:
		l.unknown = l.unknown || known == nil && name != "--help"
		l.add(arg)
		return 0
	}
	l.add(arg, next)
	return 1
}

var ratio = regexp.MustCompile(`^[0-9]+:[0-9]+$`)

// letter adds a flag of one letter, with its value behind it or joined to it.
func (l *commandLine) letter(arg, next string, hasNext bool) int {
	meant, known := letters[arg[1]]
	value, taken := strings.TrimPrefix(arg[2:], "="), 0
	if value == "" && hasNext {
		value, taken = next, 1
	}
	if arg[1] == 't' && getsAndSets.MatchString(value) && l.flags.Lookup("mix") != nil {
		for test := range strings.SplitSeq(strings.ToLower(value), ",") {
			l.add("--mix", test)
		}
		return taken
	}
	has := known && l.flags.Lookup(strings.TrimPrefix(meant.flag, "--")) != nil
	if !has || !meant.value.MatchString(value) || arg[1] == 'o' && len(arg) > 2 {
		l.unknown = l.unknown || l.flags.ShorthandLookup(arg[1:2]) == nil && arg != "-h"
		l.add(arg)
		return 0
	}
	l.add(meant.flag, value)
	return taken
}

// isOption reports whether a text is OPTION=VALUE of some driver, and the value one of the option's.
func (l *commandLine) isOption(text string) bool {
	name, value, is := strings.Cut(text, "=")
	return is && slices.ContainsFunc(drivers.All(), func(d store.Driver) bool {
		options := d.Describe().Options
		_, err := store.Resolve(options, map[string]string{name: value})
		return err == nil
	})
}

// stores rewrites the words that name what is run, each in its place.
func (l *commandLine) stores() {
	instead, behind := map[int][]string{}, []string(nil)
	var named []string
	for i, at := range l.places {
		between := i > 0 && i+1 < len(l.places) && isDriverName(l.done[l.places[i-1]]) &&
			isDriverName(l.done[l.places[i+1]])
		if !between || !slices.Contains([]string{"vs", "vs.", "versus", "against"}, l.done[at]) {
			instead[at] = storesOf(l.done[at])
			named = append(named, instead[at]...)
		}
	}
	switch {
	case len(l.options) > 0 && len(named) == 1 && !strings.ContainsAny(named[0], "[?"):
		instead[l.places[0]] = []string{named[0] + "[" + strings.Join(l.options, ",") + "]"}
	case len(l.options) > 0 && l.attach(instead): // one store alone has each of them
	case len(l.options) > 0: // of which store is not said
		behind = l.asTyped
	case len(named) > 1 && slices.Contains(presets.Names(), named[0]) && !slices.ContainsFunc(named[1:], notPlainStore):
		for _, at := range l.places[1:] {
			delete(instead, at)
		}
		behind = []string{"--set", "stores=[" + strings.Join(named[1:], ", ") + "]"}
	}
	var all []string
	for i, word := range l.done {
		if slices.Contains(l.places, i) {
			all = append(all, instead[i]...)
		} else {
			all = append(all, word)
		}
	}
	l.done = append(all, behind...)
}

// attach gives each option to the one store that has it; false, and nothing is changed: several have, or none.
func (l *commandLine) attach(instead map[int][]string) bool {
	of := map[int][]string{}
	for _, option := range l.options {
		owners := 0
		for at, words := range instead {
			if len(words) == 1 && isPlainStore(strings.TrimSuffix(words[0], "@start")) && hasOption(strings.TrimSuffix(words[0], "@start"), option) {
				of[at] = append(of[at], option)
				owners++
			}
		}
		if owners != 1 {
			return false
		}
	}
	for at, options := range of {
		instead[at] = []string{instead[at][0] + "[" + strings.Join(options, ",") + "]"}
	}
	return true
}

// hasOption reports whether OPTION=VALUE is one of a driver's.
func hasOption(driver, text string) bool {
	name, value, _ := strings.Cut(text, "=")
	return slices.ContainsFunc(drivers.All(), func(d store.Driver) bool {
		described := d.Describe()
		_, err := store.Resolve(described.Options, map[string]string{name: value})
		return described.Name == driverNamed(driver) && err == nil
	})
}

func notPlainStore(word string) bool { return !isPlainStore(word) }

// isPlainStore reports whether a word is a driver's name alone.
func isPlainStore(word string) bool {
	return !strings.ContainsAny(word, "@[?:") && isDriverName(word)
}

// storesOf are the stores, or the preset, that a word stands for; the word itself if it is nothing else.
func storesOf(word string) []string {
	if _, err := os.Stat(word); err == nil {
		return []string{word} // a file
	}
	if parts := strings.Split(word, ","); len(parts) > 1 && !slices.ContainsFunc(parts, func(s string) bool { return !isPlainStore(s) }) {
		var all []string
		for _, part := range parts {
			all = append(all, storesOf(part)...)
		}
		return all
	}
	if lower := strings.ToLower(word); !isDriverName(word) && isPlainStore(lower) {
		word = lower
	}
	if driver := driverHabits[strings.ToLower(word)]; driver != "" && !isDriverName(word) && isPlainStore(driver) {
		word = driver
	}
	if letter, is := strings.CutPrefix(strings.ToLower(word), "workload"); is && slices.Contains(presets.Names(), "ycsb-"+letter) {
		return []string{"ycsb-" + letter}
	}
	driver, rest, hasColon := strings.Cut(word, ":")
	switch {
	case hasColon && isPlainStore(driver) && strings.Contains(rest, "=") && !strings.HasPrefix(rest, "//"):
		return []string{driver + "[" + rest + "]"}
	case hasColon && !strings.ContainsAny(word, "@/[") && !isPlainStore(driver) && portDrivers[rest] != "":
		return []string{portDrivers[rest] + "@" + word}
	case isPlainStore(word) && read.StartsAlone(word, programKnown):
		return []string{word + "@start"}
	}
	return []string{word}
}

// programKnown reports whether Assay can start the server of a driver.
func programKnown(driver string) bool {
	_, known := programOf(driver)
	return known
}
