package server

import (
	"net"
	"strconv"

	"assay/store"
)

// Instance is a server that is being started or runs. The functions of its [Program] get it.
type Instance struct {
	Binary    string
	Directory string        // its own: empty before Prepare, absolute, and where the program starts
	Port      int           // of loopback, at [Host]
	Options   store.Options // of each declared option: the experiment's, the class's, or the default

	// Asked is what the server must tell of itself: what Program.Asked returned, and the experiment's
	// settings by the program's own names.
	Asked map[string]string
}

// Endpoint returns HOST:PORT.
func (i *Instance) Endpoint() string { return net.JoinHostPort(Host, strconv.Itoa(i.Port)) }
