package agents

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"time"

	"assay/internal/execution/child"
	"assay/internal/experiment"
)

// Invitation is what a launched agent reads from its standard input, as a line of JSON: no process
// list shows it. The end of the input is the end of the agent.
type Invitation struct {
	Server string `json:"server"`
	Token  Token  `json:"token"`
	Name   string `json:"name"`

	AllowRemote bool `json:"allow_remote,omitempty"`
	Sockets     bool `json:"sockets,omitempty"` // the agent is on the conductor's machine, in its file system
}

// ServeInvited is [Serve] of an agent that was launched: it reads its invitation, serves one
// conductor, and ends with the input.
func ServeInvited(ctx context.Context, in io.Reader, o AgentOptions) error {
	reader := bufio.NewReader(in)
	line, err := reader.ReadSlice('\n') // at most what the reader's buffer has
	var i Invitation
	if err == nil {
		err = json.Unmarshal(line, &i)
	}
	if err != nil {
		return fmt.Errorf("reading the invitation: %w", err)
	}
	o.Server, o.Token, o.Name, o.Once, o.AllowRemote = i.Server, i.Token, i.Name, true, o.AllowRemote || i.AllowRemote
	o.Sockets = i.Sockets
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		defer cancel()
		_, _ = io.Copy(io.Discard, reader) // whatever ends it, who launched the agent is gone
	}()
	return Serve(ctx, o)
}

// launcher returns the command of an agent's process, and the server's URL as the agent reaches it.
type launcher func(h *Hub) (command *exec.Cmd, server string, err error)

// slotsOf returns the places that one of Options.Agents asks for. number is the first one's.
func slotsOf(where string, number int) (slots []*slot, err error) {
	place, err := experiment.ParseAgents(where)
	if err != nil {
		return nil, fmt.Errorf("agents: %w", err)
	}
	for i := range place.Count {
		s := &slot{name: fmt.Sprintf("%s-%d", place.Scheme, number+i+1)}
		switch place.Scheme {
		case experiment.AgentsLocal:
			s.launch, s.here = launchLocal, true
		case experiment.AgentsDocker:
			s.launch = launchDocker
		case experiment.AgentsSSH:
			s.launch, s.name = launchSSH(place.Target), fmt.Sprintf("%s-%d", place.Target, number+i+1)
		}
		slots = append(slots, s)
	}
	return slots, nil
}

func launchLocal(h *Hub) (*exec.Cmd, string, error) {
	command := slices.Concat(h.Agent, []string{"--invited"})
	return exec.Command(command[0], command[1:]...), h.Server, nil
}

// launched is a process that is an agent, or that leads to one.
type launched struct {
	process *child.Child
	stdin   io.WriteCloser
	exited  chan struct{}
	err     error
}

var errEnded = errors.New("its process ended")

// ended says how the process ended; nil: it runs.
func (l *launched) ended() error {
	select {
	case <-l.exited:
		if l.err != nil {
			return fmt.Errorf("%w: %w", errEnded, l.err)
		}
		return errEnded
	default:
		return nil
	}
}

// end ends the process, which its input's end asks to.
func (l *launched) end(patience time.Duration) {
	_ = l.stdin.Close() // it may be gone
	select {
	case <-l.exited:
		return
	case <-time.After(patience):
	}
	l.process.Kill()
	<-l.exited
}

// launch starts the agent of a place, unless it is there or is not to be launched.
func (h *Hub) launch(s *slot) error {
	h.mu.Lock()
	present, running := s.agent != nil, s.child != nil && s.child.ended() == nil
	h.mu.Unlock()
	if s.launch == nil || present {
		return nil
	}
	if running { // of an agent that was lost
		s.child.end(0)
	}
	command, server, err := s.launch(h)
	if err != nil {
		return err
	}
	command.Stderr = h.Log
	command.WaitDelay = time.Second
	stdin, err := command.StdinPipe()
	if err != nil {
		return err
	}
	process, err := child.Start(command, child.Options{})
	if err != nil {
		return errors.Join(err, stdin.Close())
	}
	l := &launched{process: process, stdin: stdin, exited: make(chan struct{})}
	h.mu.Lock()
	s.child = l
	h.mu.Unlock()
	line, err := json.Marshal(Invitation{Server: server, Token: h.Token, Name: s.name, AllowRemote: h.AllowRemote,
		Sockets: s.here})
	if err == nil {
		_, err = stdin.Write(append(line, '\n'))
	}
	go func() {
		_, l.err = process.Wait()
		close(l.exited)
		h.mu.Lock()
		a, own := s.agent, s.child == l
		h.mu.Unlock()
		if a != nil && own {
			a.lose(l.ended().Error())
		}
	}()
	return err
}
