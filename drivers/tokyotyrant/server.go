package tokyotyrant

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"assay/drivers/internal/wire"
	"assay/internal/base/bounded"
	"assay/internal/execution/server"
	"assay/store"
)

const missing = "no package has it; build Tokyo Tyrant 1.1.41 from its source (it needs libtokyocabinet-dev), and put ttserver in PATH"

// database is what a ttserver hosts.
type database struct {
	kind   string // as stat reports it
	suffix string // of its file; "": it is in memory
	name   string // of one in memory
}

// databases are the choices of the option of that name. A program of one kind has no such option.
var databases = map[string]database{
	"hash":        {kind: "hash", suffix: ".tch"},
	"memory-hash": {kind: "on-memory hash", name: "*"},
	"memory-tree": {kind: "on-memory tree", name: "+"},
	"btree":       {kind: "B+ tree", suffix: ".tcb"},
	"table":       {kind: "table", suffix: ".tct"},
}

// Program is a ttserver with a hash database, or one in memory.
var Program = program("tokyotyrant", "", []store.Option{
	{Name: "database", Type: store.Choice, Default: "hash",
		Choices: []string{"hash", "memory-hash", "memory-tree"},
		Help: "hash: a file; the others: memory, which the class D0 sets (the program's own default is " +
			"memory-hash)"},
	bucketsOption("131071"), mappedOption("64MiB"), alignmentOption("4"), recordsCachedOption,
	{Name: "capnum", Type: store.Int, Default: "0", Help: "of a database in memory: records that it holds; " +
		"it evicts; 0: no limit"},
	{Name: "capsiz_bytes", Type: store.Bytes, Default: "0", Help: "of a database in memory: memory that it " +
		"uses; it evicts; 0: no limit"},
}, func(class store.Durability) (map[string]string, bool) {
	if class == store.D0 {
		return map[string]string{"database": "memory-hash"}, true
	}
	return nil, class == store.D1
})

// TreeProgram is a ttserver with a B+ tree.
var TreeProgram = program("tokyotyrant-btree", "btree", append([]store.Option{
	bucketsOption("32749"), mappedOption("0"), alignmentOption("8"),
	{Name: "lmemb", Type: store.Int, Default: "128", Help: "records of a leaf"},
	{Name: "nmemb", Type: store.Int, Default: "256", Help: "keys of a node"},
}, pagesCachedOptions("1024")...), func(class store.Durability) (map[string]string, bool) {
	return nil, class == store.D0
})

// TableProgram is a ttserver with a table.
var TableProgram = program("tokyotyrant-table", "table", append([]store.Option{
	bucketsOption("131071"), mappedOption("64MiB"), alignmentOption("4"), recordsCachedOption,
}, pagesCachedOptions("4096")...), func(class store.Durability) (map[string]string, bool) {
	return nil, class == store.D0 || class == store.D1
})

func bucketsOption(usual string) store.Option {
	return store.Option{Name: "bnum", Type: store.Int, Default: usual,
		Help: "buckets of the file; the library takes the next larger of its primes; advised: at least half " +
			"the number of records"}
}

func mappedOption(usual string) store.Option {
	return store.Option{Name: "xmsiz_bytes", Type: store.Bytes, Default: usual,
		Help: "how much of the file is mapped, the buckets at least"}
}

func alignmentOption(usual string) store.Option {
	return store.Option{Name: "apow", Type: store.Int, Default: usual,
		Help: "records are aligned to 2^apow bytes"}
}

var recordsCachedOption = store.Option{Name: "rcnum", Type: store.Int, Default: "0",
	Help: "records cached for reading; 0: none"}

func pagesCachedOptions(leaves string) []store.Option {
	return []store.Option{
		{Name: "lcnum", Type: store.Int, Default: leaves, Help: "leaves cached, of the tree or of each index"},
		{Name: "ncnum", Type: store.Int, Default: "512", Help: "nodes cached, of the tree or of each index"},
	}
}

// ofEvery are options of each kind of database.
var ofEvery = []store.Option{
	{Name: "threads", Type: store.Int, Default: "8", Help: "threads that serve connections (-thnum)"},
	{Name: "fpow", Type: store.Int, Default: "10",
		Help: "at most 2^fpow free blocks of the file are remembered"},
	{Name: "dfunit", Type: store.Int, Default: "0", Help: "defragment a step after so many gaps; 0: never"},
	{Name: "large", Type: store.Bool, Default: "false", Help: "the file may be longer than 2 GiB"},
	{Name: "compression", Type: store.Choice, Default: "none",
		Choices: []string{"none", "deflate", "bzip", "tcbs"},
		Help:    "of records, or of a tree's pages"},
	{Name: "update_log", Type: store.Bool, Default: "false",
		Help: "log each update after it was done (-ulog), by write(2), unsynced; it is replayed by hand"},
}

// told are the settings that can be read back, and where from, by option.
var told = map[string]string{"bnum": "bnum", "xmsiz_bytes": "mapped_bytes", "apow": "apow", "fpow": "fpow",
	"lmemb": "lmemb", "nmemb": "nmemb", "large": "large", "compression": "compression"}

// tuning are the options that stand behind the database's name, as the library knows them.
var tuning = []struct{ option, name string }{
	{"bnum", "bnum"}, {"xmsiz_bytes", "xmsiz"}, {"apow", "apow"}, {"fpow", "fpow"}, {"rcnum", "rcnum"},
	{"lcnum", "lcnum"}, {"ncnum", "ncnum"}, {"lmemb", "lmemb"}, {"nmemb", "nmemb"}, {"dfunit", "dfunit"},
	{"capnum", "capnum"}, {"capsiz_bytes", "capsiz"},
}

// updateLogDirectory is in the server's own.
const updateLogDirectory = "ulog"

func program(driver, only string, options []store.Option,
	class func(store.Durability) (map[string]string, bool)) server.Program {
	p := server.Program{
		Driver:   driver,
		Binaries: []string{"ttserver"},
		Tells:    regexp.MustCompile(`Tokyo Tyrant`),
		Missing:  missing,
		// Asked to end, it waits for a second, and writes what is thrown away.
		StopSignal: syscall.SIGKILL,
		NotAsRoot:  []string{"nobody"},
		MayBeRoot:  true,
		Open: "its protocol has no login; commands that the driver does not need are forbidden, those that run programs " +
			"and write files elsewhere among them, and others can do with its records what the driver can",
		Options: append(append(options, ofEvery...), server.SocketOption()),
		Class:   class,
		Ready:   func(ctx context.Context, i *server.Instance) error { _, err := statOf(ctx, i); return err },
		Prepare: func(_ context.Context, i *server.Instance) error {
			if !i.Options.Bool("update_log") {
				return nil
			}
			return os.Mkdir(filepath.Join(i.Directory, updateLogDirectory), 0o700)
		},
	}
	hosted := func(i *server.Instance) database {
		if only != "" {
			return databases[only]
		}
		return databases[i.Options.Choice("database")]
	}
	p.Asked = func(i *server.Instance) map[string]string { return askedOf(i, p.Options, hosted(i)) }
	p.Settings = func(ctx context.Context, i *server.Instance) (map[string]string, error) {
		return settings(ctx, i, p.Options, hosted(i))
	}
	p.Same = same
	p.Command = func(i *server.Instance) (arguments, environment []string) {
		at, port := server.Host, i.Port
		if i.AtSocket() {
			at, port = i.Endpoint(), 0
		}
		arguments = []string{"-host", at, "-port", strconv.Itoa(port), "-thnum", i.Options["threads"], "-le", "-mask", "all", "-unmask", strings.Join(allowed, ",")}
		if i.Options.Bool("update_log") {
			arguments = append(arguments, "-ulog", updateLogDirectory)
		}
		return append(arguments, argument(i, p.Options, hosted(i))), nil
	}
	return p
}

// allowed are the commands of the server that are not forbidden, by their names for -unmask: those that
// the driver sends, in each protocol. The others copy to files and programs (copy), replay logs (restore),
// follow another server (setmst), run scripts (ext), or give the update log away (repl). What begins with
// all is a group that would forbid its members, too; slave is a timer, without which the server has a
// thread less.
var allowed = []string{
	"allorg", "allmc", "allhttp", "allread", "allwrite", "allmanage", "slave",
	"put", "putkeep", "putnr", "out", "get", "sync", "vanish", "rnum", "stat", "misc",
}

// changed are the options of which another value than the library's own was asked for: no other is
// given to it.
func changed(i *server.Instance, options []store.Option) map[string]bool {
	all := map[string]bool{}
	for _, o := range options {
		if o.Type == store.Bytes {
			usual, _ := store.ParseBytes(o.Default)
			all[o.Name] = i.Options.Bytes(o.Name) != usual
		} else {
			all[o.Name] = i.Options[o.Name] != o.Default
		}
	}
	return all
}

// value is an option's, as the library reads it.
func value(i *server.Instance, options []store.Option, name string) string {
	for _, o := range options {
		if o.Name == name && o.Type == store.Bytes {
			return strconv.FormatInt(i.Options.Bytes(name), 10)
		}
	}
	return i.Options[name]
}

// argument is the database's name with its tuning: data.tch#bnum=1000000#opts=l
func argument(i *server.Instance, options []store.Option, hosted database) string {
	text := hosted.name
	if hosted.suffix != "" {
		text = "data" + hosted.suffix
	}
	change := changed(i, options)
	for _, t := range tuning {
		if change[t.option] {
			text += "#" + t.name + "=" + value(i, options, t.option)
		}
	}
	letters := map[string]string{"none": "", "deflate": "d", "bzip": "b",
		"tcbs": "t"}[i.Options.Choice("compression")]
	if i.Options.Bool("large") {
		letters = "l" + letters
	}
	if letters != "" {
		text += "#opts=" + letters
	}
	return text
}

// askedOf returns what can be read back, and what has no meaning for the database: it is asked for
// and not told, which is an error.
func askedOf(i *server.Instance, options []store.Option, hosted database) map[string]string {
	all := map[string]string{"type": hosted.kind, "threads": i.Options["threads"]}
	change := changed(i, options)
	inMemory := hosted.suffix == ""
	for option, name := range told {
		// What is mapped by default is at least the buckets.
		ask := change[option] || !inMemory && option != "xmsiz_bytes"
		if _, declared := i.Options[option]; declared && ask {
			all[name] = value(i, options, option)
		}
	}
	for _, t := range tuning {
		if ofMemory := strings.HasPrefix(t.name, "cap"); change[t.option] && ofMemory != inMemory {
			all[t.name] = value(i, options, t.option)
		}
	}
	return all
}

// same allows for the library's next larger prime, and for whole pages.
func same(name, asked, told string) bool {
	a, errAsked := strconv.ParseInt(asked, 10, 64)
	t, errTold := strconv.ParseInt(told, 10, 64)
	if errAsked != nil || errTold != nil {
		return false
	}
	switch name {
	case "bnum":
		return t >= a && t <= 2*a
	case "mapped_bytes":
		const page = 4096
		return t >= a && t < a+page
	}
	return false
}

// settings are read from where they can be had: from stat, the file's header, the process.
func settings(ctx context.Context, i *server.Instance, options []store.Option,
	hosted database) (map[string]string, error) {
	stat, err := statOf(ctx, i)
	if err != nil {
		return nil, err
	}
	all := map[string]string{"type": stat["type"], "version": stat["version"]}
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", i.PID()))
	if err != nil {
		return nil, err
	}
	const others = 2 // the main thread, and one of timers
	all["threads"] = strconv.Itoa(len(tasks) - others)
	if i.Options.Bool("update_log") {
		all["update_log (asked)"] = "true"
	}
	for _, t := range tuning {
		if changed(i, options)[t.option] && told[t.option] == "" {
			all[t.name+" (asked)"] = value(i, options, t.option)
		}
	}
	if hosted.suffix == "" {
		return all, nil
	}
	path := filepath.Join(i.Directory, "data"+hosted.suffix)
	if err := readHeader(path, hosted.kind == "B+ tree", all); err != nil {
		return nil, err
	}
	return all, mapped(i.PID(), path, all)
}

// readHeader reads the tuning from the head of a hash file, which is what all kinds are on disk
// (tchdb.c, tchdbdumpmeta).
func readHeader(path string, tree bool, all map[string]string) error {
	const bytesOfIt = 256
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	head := make([]byte, bytesOfIt)
	_, err = file.ReadAt(head, 0)
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("read the head of %s: %w", path, err)
	}
	if !bytes.HasPrefix(head, []byte("ToKyO CaBiNeT\n")) {
		return fmt.Errorf("%s is no file of Tokyo Cabinet", path)
	}
	all["apow"], all["fpow"] = strconv.Itoa(int(head[34])), strconv.Itoa(int(head[35]))
	all["large"] = strconv.FormatBool(head[36]&1 != 0)
	// A build of the library has its order of bytes, and Debian's is the big end first. No number of
	// buckets is as large in the right order as in the other.
	var order binary.ByteOrder = binary.BigEndian
	if binary.LittleEndian.Uint64(head[40:]) < binary.BigEndian.Uint64(head[40:]) {
		order = binary.LittleEndian
	}
	all["bnum"] = strconv.FormatUint(order.Uint64(head[40:]), 10)
	compression := head[36]
	if tree { // whose pages are compressed, by letters of its own
		const opaque = 128
		all["lmemb"] = strconv.FormatUint(uint64(order.Uint32(head[opaque+8:])), 10)
		all["nmemb"] = strconv.FormatUint(uint64(order.Uint32(head[opaque+12:])), 10)
	}
	all["compression"] = "none"
	for bit, name := range map[byte]string{1 << 1: "deflate", 1 << 2: "bzip", 1 << 3: "tcbs"} {
		if compression&bit != 0 {
			all["compression"] = name
		}
	}
	return nil
}

// mapped reports how much of the file the process has mapped.
func mapped(pid int, path string, all map[string]string) error {
	text, err := bounded.Kernel(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(text)) {
		if !strings.HasSuffix(strings.TrimSuffix(line, "\n"), path) {
			continue
		}
		var from, to uint64
		if _, err := fmt.Sscanf(line, "%x-%x ", &from, &to); err != nil {
			return fmt.Errorf("maps of process %d: %w", pid, err)
		}
		all["mapped_bytes"] = strconv.FormatUint(to-from, 10)
	}
	return nil
}

// askPatience is for a machine that is busy: the caller bounds the question, too.
const askPatience = 10 * time.Second

// statOf asks a server over a connection of its own.
func statOf(ctx context.Context, i *server.Instance) (told status, err error) {
	c := connection{Connection: wire.Connection{Server: i.Program.Driver, Endpoint: i.Endpoint(),
		Timeout: askPatience}}
	if err := c.Dial(ctx); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	return c.stat()
}
