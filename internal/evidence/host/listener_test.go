package host

import (
	"net"
	"os"
	"slices"
	"testing"
)

func TestListeners(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", ":0"} {
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		_, port, err := net.SplitHostPort(l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		endpoint := net.JoinHostPort("127.0.0.1", port)
		if got := Listeners([]string{endpoint}); !slices.Equal(got, []int{os.Getpid()}) {
			t.Errorf("at %s, heard at %s: got processes %v, want this one, %d", address, endpoint, got, os.Getpid())
		}
		// 192.0.2.0/24 is for documentation (RFC 5737): the port is the same, the machine is
		// another.
		if got := Listeners([]string{net.JoinHostPort("192.0.2.1", port), "nonsense"}); len(got) > 0 {
			t.Errorf("elsewhere: got processes %v, want none", got)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if got := Listeners([]string{endpoint}); len(got) > 0 {
			t.Errorf("nobody listens at %s any more: got processes %v", endpoint, got)
		}
	}
}
