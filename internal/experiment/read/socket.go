package read

import (
	"cmp"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"assay/internal/base/secret"
	"assay/store"
)

// socketBytesMax is the longest path that the address of a Unix socket takes (unix(7)).
const socketBytesMax = 107

// unixScheme begins what names a Unix socket by a URL: unix:/run/redis.sock, unix:///run/redis.sock.
const unixScheme = "unix:"

// Endpoint is an endpoint of a driver as drivers take it: the absolute path of a Unix socket for the forms
// that people type; what names none stays as it is.
func Endpoint(driver, typed string) string {
	place := typed
	if after, is := strings.CutPrefix(typed, unixScheme); is {
		place = strings.TrimPrefix(after, "//")
	}
	if store.Network(place) != "unix" {
		return typed
	}
	place = path.Clean(place)
	if driver == "postgres" && !strings.HasPrefix(path.Base(place), postgresSocket) {
		return path.Join(place, postgresSocket+ports[driver]) // as libpq takes it: the directory of the socket
	}
	return place
}

const postgresSocket = ".s.PGSQL."

// refuseSocket says why an endpoint that is a Unix socket, or looks like one, can't be used.
func refuseSocket(endpoint string, driver store.Description) (reason, hint string) {
	switch {
	case store.Network(endpoint) != "unix":
		if strings.Contains(endpoint, "/") || strings.HasSuffix(endpoint, ".sock") || strings.HasPrefix(endpoint, unixScheme) {
			return fmt.Sprintf("%q is no address of a server", endpoint), "expected HOST:PORT, or the absolute path of a Unix socket, such as /run/server.sock"
		}
		return "", ""
	case !driver.UnixSockets:
		return fmt.Sprintf("%s reaches servers by TCP alone: %s is a Unix socket", driver.Name, endpoint), "expected HOST:PORT, such as 127.0.0.1:11211"
	case len(endpoint) > socketBytesMax:
		return fmt.Sprintf("the path of the Unix socket has %d bytes, and its address takes %d", len(endpoint), socketBytesMax), "a symbolic link to its directory makes it shorter"
	}
	return "", ""
}

// socketURL reads the forms in which clients write a Unix socket as an address: SCHEME+unix:///PATH,
// SCHEME-socket:///PATH, unix:///PATH, SCHEME:///DATABASE?host=/PATH and SCHEME://%2FPATH/DATABASE. is: it
// is one of them.
func (a *armArgument) socketURL(argument string) (is bool, err error) {
	scheme, rest, _ := strings.Cut(argument, "://")
	rest, query, _ := strings.Cut(rest, "?")
	options, err := url.ParseQuery(query)
	if err != nil {
		return false, nil // which url.Parse tells
	}
	driver, named := strings.CutSuffix(strings.ToLower(scheme), "+unix")
	if !named {
		driver, named = strings.CutSuffix(driver, "-socket")
	}
	place, database := "", ""
	switch {
	case driver == "unix":
		if _, place = splitLogin(rest); !strings.HasPrefix(place, "/") {
			return false, nil
		}
		if driver = wordOfSocket(place); driver == "" {
			return true, fmt.Errorf("%s: the path does not say which store listens there\nexpected DRIVER@%s, such as redis@%[2]s", secret.Masked(argument), place)
		}
	case named:
		_, place = splitLogin(rest)
	case strings.HasPrefix(strings.ToUpper(rest), "%2F"):
		place, database, _ = strings.Cut(rest, "/")
		if place, err = url.PathUnescape(place); err != nil {
			return false, nil
		}
	case strings.HasPrefix(rest, "/"):
		place, database = cmp.Or(options.Get("host"), options.Get("socket")), strings.Trim(rest, "/")
		options.Del("host")
		options.Del("socket")
	}
	if !strings.HasPrefix(place, "/") {
		return false, nil
	}
	a.called(driver)
	if port := options.Get("port"); port != "" && a.driver == "postgres" {
		place = path.Join(place, postgresSocket+port)
		options.Del("port")
	}
	a.endpoint = Endpoint(a.driver, place)
	if login, _ := splitLogin(rest); login != "" {
		return true, a.refuseLogin(argument, scheme)
	}
	if number := options.Get("db"); number != "" {
		database = number
		options.Del("db")
	}
	for name, values := range options {
		a.options = append(a.options, armOption{name, values})
	}
	slices.SortFunc(a.options, func(a, b armOption) int { return strings.Compare(a.name, b.name) })
	if database != "" {
		a.options = append(a.options, armOption{"database", []string{database}})
	}
	return true, nil
}

// splitLogin takes USER:PASSWORD@ off.
func splitLogin(text string) (login, rest string) {
	if at := strings.Index(text, "@"); at >= 0 && at < strings.Index(text+"/", "/") {
		return text[:at], text[at+1:]
	}
	return "", text
}

// socketWords are what the names of sockets have of their servers', and the words that people use for
// these; the first that fits counts.
var socketWords = []struct{ part, word string }{
	{strings.ToLower(postgresSocket), "postgres"}, {"postgres", "postgres"}, {"mysql", "mysql"}, {"maria", "mariadb"},
	{"valkey", "valkey"}, {"keydb", "keydb"}, {"redict", "redict"}, {"redis", "redis"}, {"memcache", "memcached"}, {"ferretdb", "ferretdb"}, {"mongo", "mongodb"},
}

// wordOfSocket is the store that a socket's own name, or else its path, tells; "": none.
func wordOfSocket(place string) string {
	for _, text := range []string{path.Base(place), place} {
		for _, known := range socketWords {
			if strings.Contains(strings.ToLower(text), known.part) {
				return known.word
			}
		}
	}
	return ""
}
