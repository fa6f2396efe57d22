package host

import (
	"slices"
	"strconv"
	"strings"
)

// serverWhose stands before the dot in the names of a server's series. Where a store has several
// servers, each has series of its own: see [ServerSeries].
const serverWhose = "server"

// ServerSeries names a series of the catalogue for one of a store's servers: "server.cpu" of the
// second of three is "server2.cpu". Servers count from 1, in the order of the store's endpoints.
func ServerSeries(name string, number, of int) string {
	if _, what, cut := strings.Cut(name, serverWhose+"."); cut && of > 1 {
		return serverWhose + strconv.Itoa(number) + "." + what
	}
	return name
}

// ServerNumber returns which of several servers a series is of, and its name in the catalogue; 0 and
// the name as it is where it is of no such server.
func ServerNumber(name string) (number int, catalogued string) {
	whose, what, _ := strings.Cut(name, ".")
	digits, numbered := strings.CutPrefix(whose, serverWhose)
	if n, err := strconv.Atoi(digits); numbered && err == nil && n > 0 && strconv.Itoa(n) == digits {
		return n, serverWhose + "." + what
	}
	return 0, name
}

// InOrder sorts names of series as the catalogue has them, the servers' of one series by number;
// what the catalogue does not have comes last.
func InOrder(names []string) {
	place := func(name string) (int, int) {
		number, in := ServerNumber(name)
		if at, known := catalogued[in]; known {
			return at, number
		}
		return len(Catalogue), number
	}
	slices.SortStableFunc(names, func(a, b string) int {
		i, m := place(a)
		k, n := place(b)
		if i != k {
			return i - k
		}
		return m - n
	})
}

// IgnoreServerWrites leaves out what /proc/PID/io says of the servers' writes, because it is not
// true.
func (s *Sampler) IgnoreServerWrites(why string) { s.telemetry.why["server.write"] = why }

// servers takes what each server's processes have used; one that has ended has no values.
func (t *telemetry) servers(v values, uses []processUse) {
	for i, use := range uses {
		if !use.found {
			continue
		}
		name := func(series string) string { return ServerSeries(series, i+1, len(uses)) }
		v.rate(name("server.cpu"), use.cpuSeconds)
		v.gauge(name("server.rss"), float64(use.rssBytes))
		v.gauge(name("server.threads"), float64(use.threads))
		if !use.ioKnown {
			continue
		}
		v.rate(name("server.read"), float64(use.readBytes))
		if t.why["server.write"] == "" {
			v.rate(name("server.write"), float64(use.writeBytes))
		}
	}
}

// serverFiles counts each server's descriptors. A server of another user can't be looked into.
func (t *telemetry) serverFiles(v values, servers []int) {
	for i, server := range servers {
		files, sockets, err := t.descriptors(tree(t.roots, server))
		if err != nil {
			v.missing(err, "server.files", "server.sockets")
			return
		}
		if files+sockets > 0 { // one that has ended has none
			v.gauge(ServerSeries("server.files", i+1, len(servers)), float64(files))
			v.gauge(ServerSeries("server.sockets", i+1, len(servers)), float64(sockets))
		}
	}
}
