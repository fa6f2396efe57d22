// Package local keeps what listens on the loopback to those who ask for it by a name of the loopback: a
// page of somebody else's, whose name was made to lead to this machine, gets nothing.
package local

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// Only answers by handler. Where the listener is on the loopback alone, requests that name another host
// are refused.
func Only(listener net.Listener, handler http.Handler) http.Handler {
	if at, is := listener.Addr().(*net.TCPAddr); !is || !at.IP.IsLoopback() {
		return handler
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !named(r.Host) {
			http.Error(w, "This server answers at "+listener.Addr().String()+" alone.", http.StatusForbidden)
			return
		}
		handler.ServeHTTP(w, r)
	})
}

// named says if a request's Host is this machine's own: localhost or an address of the loopback.
func named(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	address, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return host == "localhost" || err == nil && address.IsLoopback()
}
