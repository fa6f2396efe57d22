package agents

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"assay/internal/testkit/processes"
)

// standIn is a program in place of docker, which runs the command of an image as a process. No engine is tested.
func standIn(words []string) error {
	// docker run --rm --interactive --network host IMAGE agent --invited
	if len(words) < 8 || strings.Join(words[:6], " ") != "docker run --rm --interactive --network host" || words[6] != "an/image:1" {
		return fmt.Errorf("unknown words: %q", words)
	}
	return syscall.Exec(os.Args[0], append([]string{os.Args[0]}, words[7:]...), os.Environ())
}

// Agents in containers, by the stand-in: they join, work, and are gone afterwards.
func TestAgentsInContainers(t *testing.T) {
	hub, err := NewHub(Options{Agents: []string{"docker:2"}, Docker: []string{os.Args[0], "stand-in", "docker"}, Image: "an/image:1",
		Version: "1", Log: io.Discard, Patience: long, Agent: []string{"an agent of this binary is not asked for"}})
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
}

// An agent that was not dismissed, because its run was killed, ends once it has not heard of a conductor
// for the time that its flag gives, before a run or during one.
func TestAgentWithoutARunEnds(t *testing.T) {
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
