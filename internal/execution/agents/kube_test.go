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
	"syscall"
	"testing"

	"assay/internal/testkit/golden"
)

// The manifest is a file that build/kube decodes strictly, with Kubernetes' own types: they are forty
// modules, which Assay does not need.
func TestManifest(t *testing.T) {
	for name, job := range map[string]Job{
		"manifest.yaml": {Name: "assay-agents", Count: 4, Image: "assay:latest"},
		"manifest_of_a_run.yaml": {Name: "load", Namespace: "tests", Count: 2, Image: "registry.example:5000/assay:1.2", Server: "nats://u:p\"w@10.0.0.1:4222",
			Token: "a token: of \"16\" and more", AllowRemote: true},
	} {
		text, err := job.Manifest()
		if err != nil {
			t.Fatal(err)
		}
		golden.Check(t, name, text)
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
		switch words[2] {
		case "apply":
			count, err := strconv.Atoi(value("completions"))
			if err != nil {
				return err
			}
			for i := range count {
				c := exec.Command(os.Args[0], "join", value("nats"))
				c.Env = append(os.Environ(), "ASSAY_TEST_TOKEN="+value("token"))
				if err := c.Start(); err != nil {
					return err
				}
				if err := os.WriteFile(filepath.Join(folder, fmt.Sprint(i)), []byte(fmt.Sprint(c.Process.Pid)), 0o600); err != nil {
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
				eventually(t, "the end of an agent", func() bool { return syscall.Kill(pid, 0) != nil || isZombie(pid) })
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

func isZombie(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(text), ") Z ")
}
