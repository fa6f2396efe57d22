package read

import (
	"fmt"
	"net"
	"net/url"
	"path"
	"reflect"
	"slices"
	"strings"

	"assay/internal/base/secret"
	"assay/internal/experiment"
)

// product is a word that people use for a store, and the driver that measures it.
type product struct {
	driver string
	other  bool   // it is another program that speaks the driver's protocol: an arm keeps its name
	starts string // of another program: the binary that Assay can start in place of the driver's; "": none
}

var products = map[string]product{
	"postgresql": {driver: "postgres"}, "pg": {driver: "postgres"}, "mongo": {driver: "mongodb"}, "sqlite3": {driver: "sqlite"},
	"rocks": {driver: "rocksdb"}, "memcache": {driver: "memcached"}, "badgerdb": {driver: "badger"}, "pebbledb": {driver: "pebble"},
	"etcd3": {driver: "etcd"}, "mdb": {driver: "lmdb"}, "rediss": {driver: "redis"},
	"valkey": {driver: "redis", other: true, starts: "valkey-server"}, "keydb": {driver: "redis", other: true, starts: "keydb-server"},
	"redict":    {driver: "redis", other: true, starts: "redict-server"},
	"dragonfly": {driver: "redis", other: true}, "mysql": {driver: "mariadb", other: true}, "scylla": {driver: "cassandra", other: true},
	"scylladb": {driver: "cassandra", other: true},
}

// ports are the servers' default ports, by their drivers.
var ports = map[string]string{
	"redis": "6379", "memcached": "11211", "postgres": "5432", "mariadb": "3306", "etcd": "2379", "mongodb": "27017", "ferretdb": "27017",
	"cassandra": "9042", "nats": "4222", "riak": "8087", "tarantool": "3301", "tokyotyrant": "1978",
}

// StartWord is what a command line calls the server that Assay can start for the store's driver. Of another
// product that it can't start, such as MySQL, it is the driver's own.
func StartWord(s experiment.Store) string {
	if p := products[s.Name]; p.other && p.driver == s.Driver && p.starts != "" {
		return s.Name
	}
	return s.Driver
}

// startedInstead reports whether StartWord is another server than the store's own, which Assay can't start.
func startedInstead(s experiment.Store) bool {
	p := products[s.Name]
	return p.other && p.driver == s.Driver && p.starts == ""
}

// StartsAlone reports whether a word alone says which server is to be started: that of a driver, or of another
// product whose program is known.
func StartsAlone(word string, startable func(driver string) bool) bool {
	p := products[strings.ToLower(word)]
	return startable(DriverNamed(word)) && (!p.other || p.starts != "")
}

// DriverNamed returns the driver that a word stands for: itself if it is no other name of one.
func DriverNamed(word string) string {
	if p, known := products[strings.ToLower(word)]; known {
		return p.driver
	}
	return word
}

// DriverOf returns the driver that an argument of a command line names.
func DriverOf(argument string) string {
	if isURL(argument) {
		var a armArgument
		if is, _ := a.socketURL(argument); is { // what is wrong with it is reported where it is read
			return a.driver
		}
		scheme, _, _ := strings.Cut(argument, "://")
		return DriverNamed(scheme)
	}
	end := strings.IndexAny(argument, "@[?")
	if end < 0 {
		end = len(argument)
	}
	return DriverNamed(argument[:end])
}

// isURL reports whether an argument begins with a scheme: redis@unix:///run/redis.sock does not.
func isURL(argument string) bool {
	scheme, _, is := strings.Cut(argument, "://")
	return is && !strings.ContainsAny(scheme, "@[?")
}

// armArgument is a store as a command line names it: DRIVER, DRIVER@start, DRIVER@start=PROGRAM,
// DRIVER@image=IMAGE, DRIVER@git=DIRECTORY:COMMIT, DRIVER@HOST:PORT, DRIVER@/PATH/OF/SOCKET or a URL, each with
// [OPTION=VALUE,…] or ?OPTION=VALUE&… behind the driver or at the end.
type armArgument struct {
	typed, driver, name string
	start               bool
	program, endpoint   string
	git, commit         string // of which the server is built
	options             []armOption
}

// armOption is an option of an arm; several values make an arm each.
type armOption struct {
	name   string
	values []string
}

func parseArm(argument string) (a armArgument, err error) {
	a.typed = argument
	if isURL(argument) {
		return a, a.fromURL(argument)
	}
	rest, options, closed := bracketed(argument)
	if !closed {
		return a, fmt.Errorf("%s: the bracket is not closed\nexpected DRIVER[OPTION=VALUE,OPTION=VALUE]", argument)
	}
	rest, query, asked := strings.Cut(rest, "?")
	if asked && options != "" {
		return a, fmt.Errorf("%s: options stand in brackets or behind ?, not both", argument)
	}
	separator := ","
	if asked {
		options, separator = query, "&"
	}
	if err := a.takeOptions(options, separator); err != nil {
		return a, err
	}
	word, place, at := strings.Cut(rest, "@")
	a.called(word)
	if !at {
		return a, nil
	}
	return a, a.takePlace(word, place)
}

// bracketed takes the options out of an argument: they stand in brackets behind the driver or at the end.
// Brackets that begin an endpoint are those of an address.
func bracketed(argument string) (rest, inside string, closed bool) {
	at := strings.Index(argument, "@")
	open := strings.LastIndex(argument, "[")
	if at >= 0 && strings.Contains(argument[:at], "[") {
		open = strings.Index(argument, "[")
	}
	if open < 0 || at >= 0 && open == at+1 {
		return argument, "", true
	}
	inside, after, closed := strings.Cut(argument[open+1:], "]")
	return argument[:open] + after, inside, closed
}

// called sets the driver and the name by the word that was typed.
func (a *armArgument) called(word string) {
	a.driver, a.name = DriverNamed(word), DriverNamed(word)
	if products[strings.ToLower(word)].other {
		a.name = strings.ToLower(word)
	}
}

func (a *armArgument) takePlace(word, place string) error {
	program, named := strings.CutPrefix(place, "start=")
	if source, built := strings.CutPrefix(place, "git="); built {
		a.git, a.commit, _ = strings.Cut(source, ":")
		if a.git == "" {
			return fmt.Errorf("%s: expected the server's source, such as %s@git=../%s:v1.2", a.typed, word, word)
		}
		a.start = true
		a.name += behind("-", shortCommit(a.commit))
		return nil
	}
	other := products[strings.ToLower(word)]
	image, inImage := strings.CutPrefix(place, "image=")
	switch {
	case inImage && !imageReference.MatchString(image):
		return fmt.Errorf("%s: expected the image of a container, such as %s@image=%s:8", a.typed, word, word)
	case inImage:
		a.start, a.program = true, experiment.ImageBinary(image, "")
	case place == "start" && other.other && other.starts == "":
		return fmt.Errorf("%s: Assay can't start %s\nstart it, and name it: %s@HOST:PORT; or let Assay start %s: %s@start", a.typed, word, word,
			other.driver, other.driver)
	case place == "start":
		a.start, a.program = true, other.starts
	case named && program == "":
		return fmt.Errorf("%s: expected the server's program, such as %s@start=/opt/bin/server", a.typed, word)
	case named:
		a.start, a.program = true, program
	default:
		a.endpoint = a.withPort(Endpoint(a.driver, place))
	}
	return nil
}

// withPort adds the driver's own port to a host without one. What may be a slip of start is left alone.
func (a *armArgument) withPort(place string) string {
	port := ports[a.driver]
	if _, _, err := net.SplitHostPort(place); err == nil || port == "" || strings.Contains(place, "@") || isSocket(place) {
		return place
	}
	if host := strings.Trim(place, "[]"); place == "localhost" || net.ParseIP(host) != nil || strings.Contains(host, ".") {
		return net.JoinHostPort(host, port)
	}
	return place
}

// takeOptions reads OPTION=VALUE, or OPTION=VALUE,VALUE for an arm each.
func (a *armArgument) takeOptions(text, separator string) error {
	if text == "" {
		return nil
	}
	for part := range strings.SplitSeq(text, separator) {
		name, value, named := strings.Cut(part, "=")
		switch {
		case named && strings.TrimSpace(name) != "":
			a.options = append(a.options, armOption{strings.TrimSpace(name), []string{strings.TrimSpace(value)}})
		case !named && len(a.options) > 0:
			last := &a.options[len(a.options)-1]
			last.values = append(last.values, strings.TrimSpace(part))
		default:
			return fmt.Errorf("%s: %q is no option of an arm\nexpected OPTION=VALUE; several values make an arm each: OPTION=VALUE,VALUE", a.typed, part)
		}
	}
	return nil
}

// fromURL reads the addresses that clients of stores take.
func (a *armArgument) fromURL(argument string) error {
	if is, err := a.socketURL(argument); is {
		return err
	}
	u, err := url.Parse(argument)
	if err != nil || u.Host == "" {
		return fmt.Errorf("%s: no address of a server\nexpected DRIVER@HOST:PORT", secret.Masked(argument))
	}
	a.called(u.Scheme)
	a.endpoint = u.Host
	if u.Port() == "" && ports[a.driver] != "" {
		a.endpoint = net.JoinHostPort(u.Hostname(), ports[a.driver])
	}
	if err := a.takeOptions(u.RawQuery, "&"); err != nil {
		return err
	}
	if u.Scheme == "rediss" {
		a.options = append(a.options, armOption{"tls", []string{"true"}})
	}
	if database := strings.Trim(u.Path, "/"); database != "" {
		a.options = append(a.options, armOption{"database", []string{database}})
	}
	if u.User != nil {
		return a.refuseLogin(argument, u.Scheme)
	}
	return nil
}

// logins are what gives a driver its login where it has no option credentials_env: what to do first, and
// the option.
var logins = map[string][2]string{
	"postgres": {"export PGPASSWORD=PASSWORD", "user=USER"},
	"mariadb":  {"export MYSQL_PWD=PASSWORD", "user=USER"},
	"mongodb":  {"export MONGODB_PASSWORD=PASSWORD", "user=USER"},
	"ferretdb": {"export MONGODB_PASSWORD=PASSWORD", "user=USER"},
	"nats":     {"write USER:PASSWORD into a file that you alone can read", "password_file=FILE"},
}

// refuseLogin says that a URL has a login, and how it is given instead.
func (a *armArgument) refuseLogin(argument, scheme string) error {
	how, known := logins[a.driver]
	if !known {
		how = [2]string{"export ASSAY_LOGIN=USER:PASSWORD", "credentials_env=ASSAY_LOGIN"}
	}
	return fmt.Errorf("%s: a login on the command line would stand in process lists and reports\n"+
		"%s, and name it: %s@%s?%s (where the driver takes a login: assay drivers %s)",
		secret.Masked(argument), how[0], strings.TrimSuffix(scheme, "+unix"), a.endpoint, how[1], a.driver)
}

// each returns the arms that the argument stands for, one for each combination of values, named after the
// values in which they differ.
func (a armArgument) each() (arms []armArgument) {
	arms = []armArgument{a}
	for i, o := range a.options {
		var next []armArgument
		for _, arm := range arms {
			for _, value := range o.values {
				one := arm
				one.options = slices.Clone(arm.options)
				one.options[i].values = []string{value}
				if len(o.values) > 1 {
					one.name += "-" + nameOf(value)
				}
				next = append(next, one)
			}
		}
		arms = next
	}
	return arms
}

// nameOf is a value as a part of a name.
func nameOf(value string) string {
	return strings.Map(func(r rune) rune {
		if plainName("a" + string(r)) {
			return r
		}
		return '-'
	}, path.Base(value))
}

// started are those of the arms whose servers Assay starts.
func started(arms []armArgument) (all []startedArm) {
	for i := range arms {
		if a := &arms[i]; a.start && a.git == "" {
			all = append(all, startedArm{&a.name, a.driver, a.program})
		}
	}
	return all
}

// distinguish names arms of one driver after what they differ in, where their names are equal.
func distinguish(arms []armArgument) {
	for i := range arms {
		same := 0
		for _, other := range arms {
			if other.name == arms[i].name {
				same++
			}
		}
		if same < 2 {
			continue
		}
		full := arms[i].name
		for _, o := range arms[i].options {
			full += "-" + nameOf(o.values[0])
		}
		if arms[i].program != "" {
			full += "-" + nameOf(placeOf(arms[i].program))
		}
		if !slices.ContainsFunc(arms, func(other armArgument) bool { return other.name == full }) {
			arms[i].name = full
		}
	}
}

// placeOf is what tells two programs of one name apart: the folder of bin, or the program's own name.
func placeOf(program string) string {
	if folder := path.Dir(program); path.Base(folder) == "bin" {
		return path.Base(path.Dir(folder))
	}
	return path.Base(program)
}

// serverPrefix begins the names of what stands in the field server.
const serverPrefix = "server."

// server writes the field server as a file has it; "": there is none.
func (a armArgument) server() string {
	all := &node{kind: table}
	put := func(text string, quoted bool, path ...string) {
		of, last := all, len(path)-1
		for _, key := range path[:last] {
			of = of.tableOf(key, "")
		}
		of.setText(path[last], &node{kind: scalar, text: text, quoted: quoted})
	}
	if a.start {
		put("true", false, "start")
	}
	if a.git != "" {
		put(a.git, true, "build", "git")
	}
	if a.commit != "" {
		put(a.commit, true, "build", "commit")
	}
	if image, is := strings.CutPrefix(a.program, experiment.ImagePrefix); is {
		put(image, true, "image")
	} else if a.program != "" {
		put(a.program, true, "program")
	}
	for _, o := range a.options {
		if name, ofServer := strings.CutPrefix(o.name, serverPrefix); ofServer {
			put(o.values[0], false, serverPath(name)...)
		}
	}
	switch {
	case len(all.entries) == 0:
		return ""
	case a.start && len(all.entries) == 1:
		return "start"
	}
	return flow(all)
}

// serverPath is where a name behind "server." stands in the field server: count is a field of it,
// settings.maxmemory of one of its fields, and what is no field one of the server's options.
func serverPath(name string) []string {
	first, rest, deeper := strings.Cut(name, ".")
	switch _, is := fieldOf(reflect.TypeFor[ServerFile](), first); {
	case !is:
		return []string{"options", name}
	case deeper:
		return []string{first, rest}
	}
	return []string{first}
}

// yaml writes the arm as a file has it.
func (a armArgument) yaml() string {
	if !a.start && a.endpoint == "" && len(a.options) == 0 && a.name == a.driver {
		return yamlText(a.driver, false)
	}
	fields := []string{"driver: " + yamlText(a.driver, false)}
	if a.name != a.driver {
		fields = append(fields, "name: "+yamlText(a.name, false))
	}
	if server := a.server(); server != "" {
		fields = append(fields, "server: "+server)
	}
	if a.endpoint != "" {
		fields = append(fields, "endpoints: ["+yamlText(a.endpoint, true)+"]")
	}
	var options []string
	for _, o := range a.options {
		if !strings.HasPrefix(o.name, serverPrefix) {
			options = append(options, yamlText(o.name, false)+": "+yamlText(o.values[0], false))
		}
	}
	if len(options) > 0 {
		fields = append(fields, "options: {"+strings.Join(options, ", ")+"}")
	}
	return "{" + strings.Join(fields, ", ") + "}"
}
