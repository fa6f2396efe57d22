package server

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"assay/store"
)

// The tests start this test's own program again, as a server that behaves badly in one way.
const (
	asServer = "as-fake-server"
	asOwner  = "as-owner" // starts a server in a directory, and waits to be killed
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == asServer {
		fakeServer(os.Args[2:])
		return
	}
	if len(os.Args) > 1 && os.Args[1] == asOwner {
		r := Request{Directory: os.Args[2], Log: os.Stderr, Class: store.D1, Patience: long}
		if _, err := Start(context.Background(), fake(family), r); err != nil {
			panic(err)
		}
		fmt.Println("started")
		time.Sleep(time.Hour)
	}
	os.Exit(m.Run())
}

// The kinds of fake servers.
const (
	honest     = "honest"
	silent     = "silent"     // accepts, and never answers
	deaf       = "deaf"       // never listens
	slow       = "slow"       // answers "not yet" for a while
	broken     = "broken"     // ends at once, and says why
	daemon     = "daemon"     // goes into the background
	family     = "family"     // starts others that leave its group, its session and its environment
	stubborn   = "stubborn"   // ignores SIGTERM
	liar       = "liar"       // tells other settings than it was asked for
	wide       = "wide"       // listens at a second port
	background = "background" // what daemon has started
)

// fake is the program of a kind.
func fake(kind string) Program {
	return Program{
		Driver: "fake", Binaries: []string{os.Args[0]}, Packages: []string{"fake-server"},
		VersionArguments: []string{asServer, "version"},
		Options: []store.Option{
			{Name: "memory_bytes", Type: store.Bytes, Default: "1MiB"},
			{Name: "sync", Type: store.Bool, Default: "false"},
		},
		AnySetting: true,
		Class: func(class store.Durability) (map[string]string, bool) {
			return map[string]string{"sync": fmt.Sprint(class == store.D3)}, class == store.D1 || class == store.D3
		},
		Asked: func(i *Instance) map[string]string {
			return map[string]string{"memory": fmt.Sprint(i.Options.Bytes("memory_bytes")), "sync": i.Options["sync"]}
		},
		Command: func(i *Instance) (arguments, environment []string) {
			arguments = []string{asServer, kind, i.Host, strconv.Itoa(i.Port), strconv.Itoa(i.PeerPort)}
			for name, value := range i.Asked {
				arguments = append(arguments, name+"="+value)
			}
			return arguments, []string{"FAKE=1"}
		},
		Ready: func(ctx context.Context, i *Instance) error {
			answer, err := askFake(ctx, i, "ready")
			if err == nil && !slices.Equal(answer, []string{"yes"}) {
				err = fmt.Errorf("it answers %q", answer)
			}
			return err
		},
		Settings: func(ctx context.Context, i *Instance) (map[string]string, error) {
			answer, err := askFake(ctx, i, "settings")
			told := map[string]string{}
			for _, line := range answer {
				name, value, _ := strings.Cut(line, "=")
				told[name] = value
			}
			return told, err
		},
	}
}

// askFake sends a line and returns the lines of the answer.
func askFake(ctx context.Context, i *Instance, question string) (lines []string, err error) {
	var dialer net.Dialer
	socket, err := dialer.DialContext(ctx, "tcp", i.Endpoint())
	if err != nil {
		return nil, err
	}
	defer socket.Close()
	defer context.AfterFunc(ctx, func() { socket.Close() })()
	if _, err := fmt.Fprintln(socket, question); err != nil {
		return nil, err
	}
	answer := bufio.NewScanner(socket)
	for answer.Scan() {
		lines = append(lines, answer.Text())
	}
	return lines, answer.Err()
}

func fakeServer(arguments []string) {
	kind := arguments[0]
	if kind == "version" {
		fmt.Println("fake server, version 1.2.3-fake")
		return
	}
	host, port, peers, settings := arguments[1], arguments[2], arguments[3], arguments[4:]
	fmt.Println("fake server begins") // to the log
	switch kind {
	case broken:
		fmt.Fprintln(os.Stderr, "FATAL: no such luck\nHINT: try again")
		os.Exit(3)
	case deaf:
		time.Sleep(time.Hour)
	case daemon:
		again := exec.Command(os.Args[0], append([]string{asServer, background}, arguments[1:]...)...)
		again.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := again.Start(); err != nil {
			panic(err)
		}
		return
	case family:
		for _, leave := range []string{"sleep 4600 &", "setsid sleep 4601 &", "env -i setsid sleep 4602 &", "env -i sleep 4603 3<&- &"} {
			if err := exec.Command("sh", "-c", leave).Run(); err != nil {
				panic(err)
			}
		}
	case stubborn:
		signal.Ignore(syscall.SIGTERM)
	case wide:
		if _, err := net.Listen("tcp", "127.0.0.1:0"); err != nil {
			panic(err)
		}
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if peers != "0" {
		if _, err := net.Listen("tcp", net.JoinHostPort(host, peers)); err != nil {
			panic(err)
		}
	}
	for asked := 0; ; asked++ {
		socket, err := listener.Accept()
		if err != nil {
			panic(err)
		}
		go answerFake(socket, kind, asked, settings)
	}
}

func answerFake(socket net.Conn, kind string, asked int, settings []string) {
	const notYet = 3 // questions that a slow server does not answer
	defer socket.Close()
	question, err := bufio.NewReader(socket).ReadString('\n')
	switch {
	case err != nil:
	case kind == silent:
		time.Sleep(time.Hour)
	case question == "die\n":
		fmt.Fprintln(os.Stderr, "fake server was asked to die")
		os.Exit(9)
	case question == "ready\n" && kind == slow && asked < notYet:
		fmt.Fprintln(socket, "not yet")
	case question == "ready\n":
		fmt.Fprintln(socket, "yes")
	case kind == liar:
		fmt.Fprintln(socket, "memory=4096\nsync=maybe")
	default:
		fmt.Fprintln(socket, strings.Join(settings, "\n"))
	}
}
