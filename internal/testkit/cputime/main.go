// Cputime says what each package's tests cost in CPU time, so that growth is seen.
//
//	go test -exec "cputime FILE" ./...   runs each test program, and adds a line about it to FILE
//	cputime FILE                         prints the lines, the greatest first, and their sum
//
// The time is that of the test's process and of all processes that it has waited for.
package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	var status int
	var err error
	switch {
	case len(os.Args) == 2:
		err = tell(os.Args[1])
	case len(os.Args) > 2:
		status, err = run(os.Args[1], os.Args[2:])
	default:
		err = errors.New("cputime FILE [PROGRAM ARGUMENT…]")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "cputime:", err)
		os.Exit(1)
	}
	os.Exit(status)
}

// run runs a test's program as if it had been started without this one. go test starts it in its
// package's folder, and sends it SIGQUIT when its time is over.
func run(file string, command []string) (status int, err error) {
	folder, err := os.Getwd()
	if err != nil {
		return 1, err
	}
	begun := time.Now()
	test := exec.Command(command[0], command[1:]...)
	test.Stdin, test.Stdout, test.Stderr = os.Stdin, os.Stdout, os.Stderr
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGQUIT, syscall.SIGINT, syscall.SIGTERM)
	if err := test.Start(); err != nil {
		return 1, err
	}
	go func() {
		for s := range signals {
			_ = test.Process.Signal(s) // it may have ended by itself
		}
	}()
	var failed *exec.ExitError
	if err := test.Wait(); err != nil && !errors.As(err, &failed) {
		return 1, err
	}
	state := test.ProcessState
	line := fmt.Sprintf("%.1f\t%.0f\t%s\n", (state.UserTime() + state.SystemTime()).Seconds(), time.Since(begun).Seconds(), folder)
	if err := add(file, line); err != nil {
		return 1, err
	}
	if status = state.ExitCode(); status < 0 { // by a signal
		status = 1
	}
	return status, nil
}

// add appends a line in one write: packages are tested beside each other.
func add(file, line string) error {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line)
	return errors.Join(err, f.Close())
}

type cost struct {
	cpu, wall float64
	folder    string
}

func tell(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	var costs []cost
	var sum float64
	for line := range strings.Lines(string(text)) {
		var c cost
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 3)
		if len(fields) != 3 {
			return fmt.Errorf("%s has the line %q", file, line)
		}
		for i, to := range []*float64{&c.cpu, &c.wall} {
			if *to, err = strconv.ParseFloat(fields[i], 64); err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
		}
		if c.folder, err = filepath.Rel(here, fields[2]); err != nil {
			return err
		}
		costs, sum = append(costs, c), sum+c.cpu
	}
	slices.SortFunc(costs, func(a, b cost) int { return cmp.Compare(b.cpu, a.cpu) })
	fmt.Println("  CPU s  wall s  tests of")
	for _, c := range costs {
		fmt.Printf("%7.1f %7.0f  %s\n", c.cpu, c.wall, c.folder)
	}
	fmt.Printf("%7.1f          all\n", sum)
	return nil
}
