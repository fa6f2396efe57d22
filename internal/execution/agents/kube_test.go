package agents

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"assay/internal/testkit/golden"
	"assay/internal/testkit/processes"
)

// The manifest is a file that build/kube decodes strictly, with Kubernetes' own types: they are forty
// modules, which Assay does not need.
func TestManifest(t *testing.T) {
	for name, job := range map[string]Job{
		"manifest.yaml": {Name: "assay-agents", Count: 4, Image: "assay:latest"},
		"manifest_of_a_run.yaml": {Name: "load", Namespace: "tests", Count: 2, Image: "registry.example:5000/assay:1.2", AllowRemote: true, Idle: podIdle,
			ByRun: true},
	} {
		text, err := job.Manifest()
		if err != nil {
			t.Fatal(err)
		}
		golden.Check(t, name, text)
		if !job.ByRun {
			continue
		}
		if text, err = job.Secret("a-uid", "a token: of \"16\" and more", "nats://u:p\"w@10.0.0.1:4222"); err != nil {
			t.Fatal(err)
		}
		golden.Check(t, "secret_of_a_run.yaml", text)
	}
	for _, job := range []Job{
		{Name: "Load", Count: 1, Image: "a"}, {Name: "a\n", Count: 1, Image: "a"}, {Name: "load", Image: "a"}, {Name: "load", Count: 1},
		{Name: "load", Count: 1, Image: "a\nb"}, {Name: "load", Namespace: "a b", Count: 1, Image: "a"},
	} {
		if text, err := job.Manifest(); err == nil {
			t.Errorf("%+v became\n%s", job, text)
		}
	}
}

// standIn is a program in place of kubectl, which starts and ends a Job's agents as processes here, or
// of docker, which runs the command of an image as a process. No cluster and no engine is tested.
func standIn(words []string) error {
	switch words[0] {
	case "docker": // run --rm --interactive --network host IMAGE agent --invited
		if strings.Join(words[1:6], " ") != "run --rm --interactive --network host" || words[6] != "an/image:1" {
			return fmt.Errorf("unknown words: %q", words)
		}
		return syscall.Exec(os.Args[0], append([]string{os.Args[0]}, words[7:]...), os.Environ())
	case "kubectl": // FOLDER apply|delete -f - …
		text, err := io.ReadAll(os.Stdin)
		if err != nil {
			return err
		}
		value := func(name string) string {
			quoted := regexp.MustCompile(`(?m)^ *` + name + `: (.*)$`).FindStringSubmatch(string(text))[1]
			if plain, err := strconv.Unquote(quoted); err == nil {
				return plain
			}
			return quoted
		}
		folder := words[1]
		count := filepath.Join(folder, "count of "+value("name"))
		switch words[2] {
		case "apply":
			if value("kind") == "Job" { // its pods wait for the Secret
				if !strings.Contains(string(text), "--idle=10m0s") || words[len(words)-1] != "jsonpath={.metadata.uid}" {
					return fmt.Errorf("%q of\n%s", words, text)
				}
				fmt.Print("a-uid")
				return os.WriteFile(count, []byte(value("completions")), 0o600)
			}
			pods, err := os.ReadFile(count)
			if err != nil || !strings.Contains(string(text), `uid: "a-uid"`) {
				return fmt.Errorf("%w: a Secret of another Job:\n%s", err, text)
			}
			for i := range string(pods)[0] - '0' {
				c := exec.Command(os.Args[0], "join", value("nats"))
				c.Env = append(os.Environ(), "ASSAY_TEST_TOKEN="+value("token"))
				if err := c.Start(); err != nil {
					return err
				}
				if err := os.WriteFile(filepath.Join(folder, fmt.Sprint(i)), []byte(fmt.Sprint(c.Process.Pid)),
					0o600); err != nil {
					return err
				}
			}
			return nil
		case "delete":
			pods, err := filepath.Glob(filepath.Join(folder, "[0-9]*"))
			if err != nil {
				return err
			}
			for _, pod := range pods {
				text, err := os.ReadFile(pod)
				if err != nil {
					return err
				}
				pid, err := strconv.Atoi(string(text))
				if err != nil {
					return err
				}
				_ = syscall.Kill(pid, syscall.SIGTERM) // as of a pod that has ended
			}
			return nil
		}
	}
	return fmt.Errorf("unknown words: %q", words)
}

// Agents in containers and in pods, by the stand-ins: they join, work, and are gone afterwards.
func TestAgentsInContainers(t *testing.T) {
	folder := t.TempDir()
	server := serverOfOthers(t)
	for places, o := range map[string]Options{
		"docker:2": {Docker: []string{os.Args[0], "stand-in", "docker"}, Image: "an/image:1"},
		"kube://tests/load:2": {Kubectl: []string{os.Args[0], "stand-in", "kubectl", folder}, Server: server.ClientURL(), Token: testToken,
			Image: "an/image:1"},
	} {
		t.Run(places, func(t *testing.T) {
			o.Agents, o.Version, o.Log, o.Patience, o.Agent = []string{places}, "1", io.Discard, long, []string{"an agent of this binary is not asked for"}
			hub, err := NewHub(o)
			if err != nil {
				t.Fatal(err)
			}
			present, err := hub.Gather(context.Background())
			if err != nil {
				hub.Close()
				t.Fatal(err)
			}
			var pids []int
			for _, a := range present {
				r := &rig{hub: hub, agent: a}
				begun(t, r.opened(t))
				pids = append(pids, a.PID)
			}
			hub.Close()
			for _, pid := range pids {
				eventually(t, "the end of an agent", func() bool { return !processes.Running(pid) })
			}
		})
	}
	hub, err := NewHub(Options{Agents: []string{"kube://load:2"}, Version: "1", Log: io.Discard, Kubectl: []string{"/nonexistent"}})
	if err != nil {
		t.Fatal(err)
	}
	defer hub.Close()
	if _, err := hub.Gather(context.Background()); err == nil || !strings.Contains(err.Error(), "--nats nats://HOST:PORT") {
		t.Errorf("pods without a NATS server that they reach: %v", err)
	}
}

// An agent that nobody dismissed, because its run was killed, ends when it has heard of no conductor for
// as long as it was told: neither before a run nor during one.
func TestAnAgentWithoutARunEnds(t *testing.T) {
	server := serverOfOthers(t)
	hub, err := NewHub(Options{Agents: []string{"join:1"}, Version: "1", Lease: 500 * time.Millisecond, Log: io.Discard, Patience: long,
		Server: server.ClientURL(), Token: testToken})
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{hub: hub}
	o := r.options("1")
	o.Once, o.Idle = false, 500*time.Millisecond
	var joined atomic.Bool
	ended := make(chan error)
	go func() {
		err := Serve(context.Background(), o)
		for err == nil && !joined.Load() { // a busy machine: it was not taken in time
			err = Serve(context.Background(), o)
		}
		ended <- err
	}()
	present, err := hub.Gather(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	joined.Store(true)
	r.agent = present[0]
	begun(t, r.opened(t))
	begin := time.Now()
	for time.Since(begin) < 2*o.Idle {
		select {
		case err := <-ended:
			t.Fatalf("it ended in the middle of a run: %v", err)
		case <-time.After(10 * time.Millisecond):
		}
	}
	hub.conn.Close() // as a conductor that is killed
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(long):
		t.Error("it waits for another run")
	}
	if left := processes.Children(t, os.Getpid()); len(left) > 0 {
		t.Errorf("workers that are left: %v", left)
	}
}
