package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/testkit/natstest"
)

const joined = `name: joined
stores: [{driver: nats, server: start}]
blocks: 1
repeats: 0
busy_machine: tell
records: 20
keys: {format: decimal}
durability: D1
agents: join:1
phases:
  - {name: load, load: true}
  - {name: get, operations: 20, mix: {read: 1}}
`

// Secrets are planted in all that can hold one: nothing that a run, its agent, a report, the history or a
// list of processes leaves or shows has any of them.
//
// Fault (left): a token, a login of NATS or a password stands in a variable or a file, or is typed
// into a command line
// Assay: no command line, file of a run, report, archive or message has it. An address with a login
// is refused
// With: secret.TestSecretsAreHidden, secret.TestHintsAreReadable
func TestSecretsAreNowhere(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	const inServer, inToken, inFlag, inVariable = "planted-in-the-server", "planted-in-the-token", "planted-in-a-flag", "planted-in-a-variable"
	nats := natstest.Start(t, "127.0.0.1", inServer)
	address, token := filepath.Join(directory, "address"), filepath.Join(directory, "token")
	write := func(name, text string) {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(address, "nats://"+inServer+"@"+nats.Addr().String()+"\n")
	write(token, inToken+"\n")
	environment := append(os.Environ(), "ASSAY_NATS_FILE="+address, "ASSAY_TOKEN_FILE="+token, "PGPASSWORD="+inVariable)
	var shown bytes.Buffer
	do := func(status int, words ...string) {
		t.Helper()
		c := exec.CommandContext(t.Context(), program, words...)
		out := &bytes.Buffer{}
		c.Env, c.Dir, c.Stdout, c.Stderr = environment, directory, out, out
		if got := statusOf(t, c.Run()); got != status && status >= 0 {
			t.Errorf("%q ended with %d, want %d:\n%s", words, got, status, out)
		}
		shown.Write(out.Bytes())
	}
	agent := exec.CommandContext(t.Context(), program, "agent", "--once")
	agent.Env, agent.Stdout, agent.Stderr = environment, &shown, &shown
	if err := agent.Start(); err != nil {
		t.Fatal(err)
	}
	command, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", agent.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	do(-1, "run", written(t, "one.yaml", joined), "--out", "run", "--save-as", "saved.yaml")
	if _, err := os.Stat(filepath.Join(directory, "run", "run.json")); err != nil {
		_ = agent.Process.Kill()
		t.Fatalf("no run was made: %v\n%s", err, &shown)
	}
	for _, format := range formats {
		do(0, "report", "run", "--format", format)
	}
	do(-1, "history", "--archive", "history.sqlite", "add", "run")
	do(exitUsage, "agent", "--join", "nats://me:"+inFlag+"@127.0.0.1:1")
	do(exitUsage, "agent", "--join", "nats://"+inFlag+"@127.0.0.1:1")
	do(exitUsage, "run", "nats@start", "--nats", "nats://"+inFlag+"@127.0.0.1:1", "--out", "other")
	_ = agent.Process.Signal(os.Interrupt) // it may wait for another run
	_ = agent.Wait()                       // how it ended, its output tells

	secrets := []string{inServer, inToken, inFlag, inVariable}
	look := func(where, text string) {
		for _, s := range secrets {
			if at := strings.Index(text, s); at >= 0 {
				t.Errorf("%s has %q in %q", where, s, text[max(0, at-80):min(len(text), at+40)])
			}
		}
	}
	look("what was shown", shown.String())
	look("the agent's command line", string(command))
	looked := 0
	err = filepath.WalkDir(directory, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path == address || path == token {
			return err
		}
		text, err := os.ReadFile(path)
		looked++
		look(path, string(text))
		return err
	})
	if err != nil || looked < 8 {
		t.Errorf("%d files were looked at, %v", looked, err)
	}
}
