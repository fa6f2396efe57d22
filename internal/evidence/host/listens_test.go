package host

import (
	"net"
	"os"
	"slices"
	"testing"
)

func TestListensAt_tells_tcp_and_udp_sockets_of_the_processes(t *testing.T) {
	var expected []string
	for _, address := range []string{"127.0.0.1:0", "0.0.0.0:0"} {
		listener, err := net.Listen("tcp4", address)
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		packets, err := net.ListenPacket("udp4", address)
		if err != nil {
			t.Fatal(err)
		}
		defer packets.Close()
		connection, err := net.Dial("tcp", listener.Addr().String()) // does not wait for accept
		if err != nil {
			t.Fatal(err)
		}
		defer connection.Close()
		expected = append(expected, "tcp "+listener.Addr().String(), "udp "+packets.LocalAddr().String())
	}
	at, err := ListensAt([]int{os.Getpid()})
	if err != nil {
		t.Fatal(err)
	}
	for _, place := range expected {
		if !slices.Contains(at, place) {
			t.Errorf("%v does not have %s", at, place)
		}
	}
	if len(at) != len(expected) {
		t.Errorf("it listens at %v, expected %v", at, expected)
	}
	if others, err := ListensAt([]int{os.Getppid()}); err != nil || slices.Contains(others, expected[0]) {
		t.Errorf("the parent listens at %v, %v", others, err)
	}
}
