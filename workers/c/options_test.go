package c_test

import (
	"errors"
	"math/big"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"assay/internal/execution/conductor"
	"assay/internal/execution/control"
	"assay/store"
)

// tried are the values that each option of a type is set to: the smallest, 1, what is no whole unit
// of a library's, and what does not fit 32 bits.
var tried = map[store.OptionType][]string{
	store.Bool:     {"false", "true"},
	store.Int:      {"-2", "-1", "0", "1", "2", "3", "7", "21", "63", "100", "300", "4294967297"},
	store.Bytes:    {"0", "1", "100", "1025", "4095", "4097", "8192", "65536", "1048576", "1048577", "4294967297"},
	store.Duration: {"-1s", "0s", "1ns", "500us", "1ms", "1500us", "500ms", "1500ms", "2s"},
}

// What is asked of an option is what the open store tells, or it is refused in words that name the
// option: for every option of every driver, as they describe themselves. A setting is not named in
// the test: one of them must follow the option, in one unit, for each value that was taken.
func TestOptionsAreInForceOrRefused(t *testing.T) {
	var programs []string
	for _, e := range engines {
		if !slices.Contains(programs, e.program) {
			programs = append(programs, e.program)
		}
	}
	for _, program := range programs {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			o := &optionsTest{T: t, command: []string{plain.worker(t, program)}}
			var described control.Described
			if err := o.call(control.Request{Command: control.CommandDescribe}, &described); err != nil {
				t.Fatal(err)
			}
			defer func() { o.worker.Kill() }()
			for _, d := range described.Drivers {
				for _, option := range d.Options {
					o.hold(d, option)
				}
			}
		})
	}
}

// optionsTest asks one worker, and another where that has died.
type optionsTest struct {
	*testing.T
	command []string
	worker  *conductor.Worker
}

func (o *optionsTest) call(r control.Request, result any) error {
	if o.worker == nil {
		worker, err := conductor.Start(o.command, os.Stderr)
		if err != nil {
			o.Fatal(err)
		}
		o.worker = worker
	}
	err := o.worker.Call(r, costTimeout, result)
	var answered *control.Error
	if err != nil && !errors.As(err, &answered) {
		o.worker.Kill()
		o.worker = nil
	}
	return err
}

// open opens a store in a directory of its own, in a class in which nothing waits for a disk, and
// returns its settings.
func (o *optionsTest) open(d store.Description, options map[string]string) (map[string]string, error) {
	directory, err := os.MkdirTemp(o.TempDir(), "")
	if err != nil {
		o.Fatal(err)
	}
	defer os.RemoveAll(directory)
	var opened control.Opened
	open := &control.Open{Driver: d.Name, Directory: directory, Durability: d.Durability[0].Class,
		Handles: control.HandlesShared, Options: options, Threads: 1}
	if err := o.call(control.Request{Command: control.CommandOpen, Open: open}, &opened); err != nil {
		return nil, err
	}
	if err := o.call(control.Request{Command: control.CommandClose}, nil); err != nil {
		o.Errorf("%s with %v: close: %v", d.Name, options, err)
	}
	return opened.Settings, nil
}

// hold holds one option.
func (o *optionsTest) hold(d store.Description, option store.Option) {
	values := tried[option.Type]
	if option.Type == store.Choice {
		values = option.Choices
	}
	if len(values) == 0 {
		o.Errorf("%s: nothing is known to try of option %s, of type %s", d.Name, option.Name, option.Type)
	}
	taken := map[string]map[string]string{}
	for _, value := range values {
		settings, err := o.open(d, map[string]string{option.Name: value})
		var answered *control.Error
		switch {
		case err == nil:
			taken[value] = settings
		case !errors.As(err, &answered):
			o.Errorf("%s with %s=%s: %v", d.Name, option.Name, value, err)
		case !strings.Contains(answered.Message, option.Name) || answered.Class != control.ClassRefused:
			o.Errorf("%s with %s=%s: %s (class %s), expected a refusal that names the option", d.Name, option.Name, value, answered.Message, answered.Class)
		}
	}
	if option.Type == store.Choice && len(taken) == 1 {
		return // the library can do no other here
	}
	if len(taken) < 2 {
		o.Errorf("%s: option %s took %d of %v: nothing can be told of it", d.Name, option.Name, len(taken), values)
		return
	}
	names := map[string]bool{}
	for _, settings := range taken {
		for name := range settings {
			names[name] = true
		}
	}
	for name := range names {
		if follows(option, name, taken) {
			return
		}
	}
	o.Errorf("%s: no setting tells what was asked of option %s. Of its values, these were taken:", d.Name, option.Name)
	for _, value := range values {
		if settings, ok := taken[value]; ok {
			o.Logf("  %s: %v", value, settings)
		}
	}
}

// units are what libraries write numbers in, as quotients of the option's own: itself, ms and s of
// ns, and KiB, which SQLite marks by a minus.
var units = []*big.Rat{big.NewRat(1, 1), big.NewRat(1, 1e6), big.NewRat(1, 1e9), big.NewRat(-1, 1024)}

// follows says whether a setting tells each value that was asked for. The default's may be another:
// 0 and -1 often stand for the library's own choice.
func follows(option store.Option, name string, taken map[string]map[string]string) bool {
	if option.Type == store.Bool || option.Type == store.Choice {
		told := map[string]bool{}
		for _, settings := range taken {
			told[settings[name]] = true
		}
		return len(told) == len(taken)
	}
	same := func(tells func(asked, told *big.Rat) bool) bool {
		for value, settings := range taken {
			asked, told := amount(value), amount(strings.TrimSuffix(settings[name], " (asked)"))
			if asked.Cmp(amount(option.Default)) != 0 && (told == nil || !tells(asked, told)) {
				return false
			}
		}
		return true
	}
	for _, unit := range units {
		if same(func(asked, told *big.Rat) bool { return new(big.Rat).Mul(asked, unit).Cmp(told) == 0 }) {
			return true
		}
	}
	if same(func(asked, told *big.Rat) bool { return asked.IsInt() && isPower(asked.Num(), told) }) {
		return true
	}
	// An option whose help says so is rounded up, by less than the double.
	return strings.Contains(option.Help, "rounded up") && same(func(asked, told *big.Rat) bool {
		return told.Cmp(asked) >= 0 && told.Cmp(new(big.Rat).Mul(asked, big.NewRat(2, 1))) < 0
	})
}

// isPower says whether told is 2 to the power of asked: records are aligned to 2^apow bytes.
func isPower(asked *big.Int, told *big.Rat) bool {
	return asked.Sign() >= 0 && asked.IsInt64() && asked.Int64() < 64 &&
		told.Cmp(new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), uint(asked.Int64())))) == 0
}

// amount reads a whole number, a number of bytes, or a duration in ns; nil: it is none.
func amount(text string) *big.Rat {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return new(big.Rat).SetInt64(n)
	}
	if n, err := store.ParseBytes(text); err == nil {
		return new(big.Rat).SetInt64(n)
	}
	if n, err := time.ParseDuration(text); err == nil {
		return new(big.Rat).SetInt64(int64(n))
	}
	return nil
}

// WiredTiger's compressors are in force where their extensions lie beside the library; where one
// does not, the refusal says what to install. What the library itself has against an opening is in
// the answer.
func TestWiredTigerSaysWhatACompressorNeeds(t *testing.T) {
	o := &optionsTest{T: t, command: []string{plain.worker(t, "wiredtiger")}}
	d := store.Description{Name: "wiredtiger", Durability: []store.DurabilityClaim{{Class: store.D1}}}
	defer func() { o.worker.Kill() }()
	for _, compressor := range []string{"none", "snappy", "zlib", "zstd"} {
		for _, kind := range []string{"file", "lsm"} {
			settings, err := o.open(d, map[string]string{"compression": compressor, "type": kind})
			switch {
			case err == nil && (settings["block_compressor"] != compressor || settings["type"] != kind):
				t.Errorf("asked for %s and %s, in force: %v", compressor, kind, settings)
			case err != nil && (compressor == "none" || !strings.Contains(err.Error(), "libwiredtiger_"+compressor+".so") || !strings.Contains(err.Error(), "install")):
				t.Errorf("%s, %s: %v", compressor, kind, err)
			}
		}
	}
	if _, err := o.open(d, map[string]string{"type": "lsm", "cache_bytes": "1MiB"}); err == nil || !strings.Contains(err.Error(), "LSM cache size") || strings.Contains(err.Error(), "[") {
		t.Errorf("a cache that is too small: %v, expected the library's own words, without time and thread", err)
	}
}
