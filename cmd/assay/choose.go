package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"assay/internal/base/format"
	"assay/internal/execution/server"
	"assay/internal/experiment"
	"assay/internal/experiment/read"
	"assay/presets"
	"assay/store"
)

// choice is what assay choose is asked for, as it is typed.
type choice struct {
	workload, rate      string
	memory, disk, price string
	wanted              float64 // the rate, once it was read
}

func chooseCommand() *cobra.Command {
	f := runFlags{capacity: true, choice: &choice{}}
	c := &cobra.Command{
		Use:   "choose [STORE…] --rate N --objective 'p99 < 5ms'",
		Short: "Find which stores do a rate within objectives, memory and disk",
		Long: `Searches for the capacity of each store, as assay capacity does, and says which of them
do the rate that is wanted while the objectives hold, and with how much to spare; which
do not, and why. It tells memory and disk, what of the acknowledged writes a power cut may
take, and what a million operations cost: CPU time, bytes written, energy where the kernel
counts it (RAPL), and money where --price says what the machine costs.

It is built on the search for a capacity, and not on load at the wanted rate alone: that
would tell who holds it today, and not how much is to spare. A store does the rate where
one run more is not to be expected to find its capacity below it. Rates up to four times
the wanted one are tried.

Without STOREs, the embedded engines are tried that reach the class; servers are named:
redis@start. --workload takes what is done from an experiment file or a preset, its first
measured phase; otherwise --mix says it. assay report DIR shows the answer again. Memory
and disk are those that were measured: --memory-limit keeps a store within one.`,
		Example: `  assay choose --rate 20000 --objective 'p99 < 5ms' --durability D3 --memory 4GiB --disk 100GB
  assay choose redis@start memcached@start --rate 50k --objective 'p99 < 2ms' --threads 16
  assay choose pebble bbolt goleveldb --workload my.yaml --rate 5k --objective 'p99.9 < 20ms'
  assay choose pebble goleveldb --rate 5k --objective 'p99 < 5ms' --price 0.05/h --dry-run`,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return measurable(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = embedded()
			}
			return f.run(c, args)
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.choice.rate, "rate", "", "`operations` a second that are wanted")
	f.objectiveFlag(c)
	flags.StringVar(&f.choice.workload, "workload", "", "experiment `file` or preset that says what is done")
	flags.StringVar(&f.choice.disk, "disk", "", "the most `bytes` of disk, such as 100GB")
	flags.StringVar(&f.choice.price, "price", "", "what the machine costs an hour, such as `0.05/h`: a million operations are then priced")
	f.flags(c)
	flags.SetNormalizeFunc(func(s *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "memory" {
			return "memory" // elsewhere it is a limit
		}
		return flagName(s, name)
	})
	flags.StringVar(&f.choice.memory, "memory", "", "the most `bytes` of memory, such as 4GiB")
	c.MarkFlagsMutuallyExclusive("workload", "mix")
	for name, values := range map[string][]string{"rate": {"5k", "20k"}, "memory": {"1GiB", "4GiB"}, "disk": {"10GB", "100GB"},
		"price": {"0.05/h"}} {
		must(c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)))
	}
	must(c.RegisterFlagCompletionFunc("workload", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return presets.Names(), cobra.ShellCompDirectiveDefault
	}))
	return c
}

// embedded are the stores that are tried where none is named: they need nothing but Assay.
func embedded() (names []string) {
	for _, d := range descriptions() {
		if d.Kind == store.Embedded {
			names = append(names, d.Name)
		}
	}
	return names
}

// chooseTimes is up to how many times the wanted rate is tried, and from which part of it on.
const chooseTimes, chooseFrom = 4, 8

// search is the field capacity of the experiment.
func (k *choice) search(objectives []string) (string, error) {
	if k.rate == "" {
		return "", errors.New("assay choose needs the rate that is wanted\n--rate 20000")
	}
	factor, digits := 1.0, k.rate
	if n := strings.TrimSuffix(k.rate, "k"); n != k.rate {
		factor, digits = 1e3, n
	} else if n := strings.TrimSuffix(k.rate, "M"); n != k.rate {
		factor, digits = 1e6, n
	}
	rate, err := strconv.ParseFloat(strings.ReplaceAll(strings.TrimSuffix(digits, "/s"), "_", ""), 64)
	if err != nil || !(rate > 0) {
		return "", fmt.Errorf("--rate %s: expected operations a second, such as 20000 or 20k", k.rate)
	}
	rate *= factor
	k.wanted = rate
	fields := []string{"rate: " + number(rate)}
	for _, limit := range []struct{ name, value string }{{"memory", k.memory}, {"disk", k.disk}} {
		if limit.value == "" {
			continue
		}
		bytes, err := store.ParseBytes(limit.value)
		if err != nil {
			return "", fmt.Errorf("--%s: %w", limit.name, err)
		}
		fields = append(fields, fmt.Sprintf("%s: %d", limit.name, bytes))
	}
	if k.price != "" {
		price, err := strconv.ParseFloat(strings.TrimSuffix(k.price, "/h"), 64)
		if err != nil || !(price > 0) {
			return "", fmt.Errorf("--price %s: expected what an hour costs, such as 0.05/h", k.price)
		}
		fields = append(fields, "price: "+number(price))
	}
	var quoted []string
	for _, o := range objectives {
		quoted = append(quoted, strconv.Quote(o))
	}
	return fmt.Sprintf("{objective: [%s], from: %s, to: %s, choose: {%s}}", strings.Join(quoted, ", "), number(rate/chooseFrom),
		number(rate*chooseTimes), strings.Join(fields, ", ")), nil
}

// question is what the choice answers, of some work.
func (k *choice) question(e *experiment.Experiment, objectives []string, work string) string {
	var names []string
	for _, s := range e.Stores {
		names = append(names, s.Name)
	}
	does := format.Rate(k.wanted) + " with " + strings.Join(objectives, " and ")
	var within []string
	if k.memory != "" {
		within = append(within, k.memory+" of memory")
	}
	if k.disk != "" {
		within = append(within, k.disk+" of disk")
	}
	if len(within) > 0 {
		does += " within " + format.List(within)
	}
	if len(names) == 1 {
		return fmt.Sprintf("Does %s do %s (%s)?", names[0], does, work)
	}
	return fmt.Sprintf("Which stores do %s: %s (%s)?", does, format.ListMax(names, questionStores), work)
}

// questionStores is how many stores a question names.
const questionStores = 6

func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// source is the experiment that searches for the capacities of stores on a workload.
func (k *choice) source(args, mixes, objectives []string, changes []read.Change) (read.Source, error) {
	search, err := k.search(objectives)
	if err != nil {
		return read.Source{}, err
	}
	quick, err := read.QuickCapacity(args, mixes, objectives, changes, server.Startable(programOf))
	if err != nil {
		return quick, err
	}
	// of the quick experiment, the stores and the phases alone
	alone, err := read.Source{Text: quick.Text, FromStores: true}.Load(driverCatalogue())
	if err != nil {
		return quick, err
	}
	if k.workload == "" {
		text, err := alone.SearchOf(search, k.question(alone.Experiment, objectives, measuredWork(alone.Experiment)))
		return read.Source{Text: text, Changes: changes, FromStores: true}, err
	}
	text, name, err := experimentSource(k.workload, nil)
	if err != nil {
		return quick, fmt.Errorf("--workload: %w", err)
	}
	folder := ""
	if info, statErr := os.Stat(k.workload); statErr == nil && !info.IsDir() {
		folder = filepath.Dir(k.workload)
	}
	loaded, err := read.Source{Text: text, Name: name, Folder: folder,
		Changes: []read.Change{alone.StoresChange()}}.Load(driverCatalogue())
	if err != nil {
		return quick, err
	}
	text, err = loaded.CapacityOf(search, k.question(loaded.Experiment, objectives, loaded.Experiment.Name))
	if err != nil {
		return quick, fmt.Errorf("--workload %s: %w", k.workload, err)
	}
	return read.Source{Text: text, Folder: folder, Changes: slices.Clone(changes)}, nil
}
