package wire

import "testing"

func TestEncrypts(t *testing.T) {
	for _, c := range []struct {
		choice, host string
		want         bool
	}{
		{"auto", "localhost", false},
		{"auto", "127.0.0.2", false},
		{"auto", "::1", false},
		{"auto", "192.0.2.1", true},
		{"auto", "localhost.example", true},
		{"verify", "127.0.0.1", true},
		{"off", "192.0.2.1", false},
	} {
		if got := Encrypts(c.choice, c.host); got != c.want {
			t.Errorf("tls %s to %s is %v", c.choice, c.host, got)
		}
	}
}
