package experiment

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// JVM is what an arm asks of the JVM that runs its client.
type JVM struct {
	Client      string   `json:"client,omitempty"` // group:artifact:version or a path; "": the version that Assay was built with
	Jars        string   `json:"jars,omitempty"`   // the jar, or the folder of jars, that Client stands for
	HeapBytes   uint64   `json:"heap_bytes,omitempty"`
	DirectBytes uint64   `json:"direct_bytes,omitempty"`
	Collector   string   `json:"collector,omitempty"`
	Flags       []string `json:"flags,omitempty"`
}

// What a JVM can have at all: below, it does not start.
const (
	heapBytesMin   = 2 << 20
	directBytesMin = 1 << 20
	jvmBytesMax    = 1 << 44
)

// collectors are the JVM's options by the collectors' names.
var collectors = map[string]string{
	"serial": "-XX:+UseSerialGC", "parallel": "-XX:+UseParallelGC", "g1": "-XX:+UseG1GC", "z": "-XX:+UseZGC", "shenandoah": "-XX:+UseShenandoahGC",
}

// Arguments returns the options of the JVM, without the client's jars.
func (j *JVM) Arguments() (arguments []string) {
	if j == nil {
		return nil
	}
	if j.HeapBytes > 0 {
		arguments = append(arguments, fmt.Sprintf("-Xmx%d", j.HeapBytes))
	}
	if j.DirectBytes > 0 {
		arguments = append(arguments, fmt.Sprintf("-XX:MaxDirectMemorySize=%d", j.DirectBytes))
	}
	if j.Collector != "" {
		arguments = append(arguments, collectors[j.Collector])
	}
	return append(arguments, j.Flags...)
}

// jvmPrefix stands before the names of a JVM's options among all options of a store.
const jvmPrefix = "java."

// options are those that AllOptions has of the JVM.
func (j *JVM) options() map[string]string {
	all := map[string]string{}
	if j == nil {
		return all
	}
	for name, value := range map[string]string{
		"client": j.Client, jvmPrefix + "heap": bytesText(j.HeapBytes), jvmPrefix + "direct": bytesText(j.DirectBytes),
		jvmPrefix + "collector": j.Collector, jvmPrefix + "flags": strings.Join(j.Flags, " "),
	} {
		if value != "" {
			all[name] = value
		}
	}
	return all
}

// bytesText is a size as the JVM's users write it; "" if none is asked.
func bytesText(bytes uint64) string {
	switch {
	case bytes == 0:
		return ""
	case bytes%(1<<20) == 0:
		return strconv.FormatUint(bytes>>20, 10) + "MiB"
	default:
		return strconv.FormatUint(bytes, 10)
	}
}

// jvm resolves which jars and which JVM an arm has, and completes its worker's command. An error that
// wraps ErrNotHere says that Maven is missing.
func (r storeResolver) jvm(s StoreFile, resolved *Store) (*Error, error) {
	asksClient, asksJVM := s.Client != ClientFile{}, s.Java.Heap != nil || s.Java.Direct != nil || s.Java.Collector != "" || s.Java.Flags != nil
	if !asksClient && !asksJVM {
		return nil, nil
	}
	field := "client"
	if !asksClient {
		field = "java"
	}
	if len(s.Worker) > 0 {
		return r.fail(r.in(field), "%s says what JVM Assay starts, and worker: names a program of its own", field).
			hint("expected one of the two"), nil
	}
	if r.drivers.OnJVM == nil || !r.drivers.OnJVM(s.Driver) {
		return r.fail(r.in(field), "%s does not run in a JVM", s.Driver).hint("leave %s out", field), nil
	}
	resolved.JVM = &JVM{HeapBytes: orCount64(s.Java.Heap, 0), DirectBytes: orCount64(s.Java.Direct, 0), Collector: string(s.Java.Collector), Flags: s.Java.Flags}
	for _, size := range []struct {
		name  string
		bytes *Count
		least uint64
	}{{"heap", s.Java.Heap, heapBytesMin}, {"direct", s.Java.Direct, directBytesMin}} {
		if size.bytes != nil && (uint64(*size.bytes) < size.least || uint64(*size.bytes) > jvmBytesMax) {
			return r.fail(r.in("java", size.name), "expected %s, got %d", countRange("java."+size.name), *size.bytes), nil
		}
	}
	for i, flag := range s.Java.Flags {
		if !strings.HasPrefix(flag, "-") || strings.HasPrefix(flag, "--jars") {
			return r.fail(r.in("java", "flags", strconv.Itoa(i)), "%q is no option of the JVM", flag).hint("expected one such as -Xlog:gc"), nil
		}
	}
	switch {
	case s.Client.Maven != "" && s.Client.Jar != "":
		return r.fail(r.in("client"), "a client has either maven or jar, not both"), nil
	case s.Client.Jar != "":
		path, err := filepath.Abs(s.Client.Jar)
		if err == nil {
			err = holdsJar(path)
		}
		if err != nil {
			return r.fail(r.in("client", "jar"), "the client's jar can't be used: %v", err), nil
		}
		resolved.JVM.Client, resolved.JVM.Jars = s.Client.Jar, path
	case s.Client.Maven != "":
		folder, err := r.drivers.JarsOf(s.Client.Maven)
		if errors.Is(err, ErrNotHere) {
			return nil, err
		}
		if err != nil {
			return r.fail(r.in("client", "maven"), "%v", err), nil
		}
		resolved.JVM.Client, resolved.JVM.Jars = s.Client.Maven, folder
	}
	if resolved.JVM.Jars != "" {
		resolved.Worker = append(resolved.Worker, "--jars="+resolved.JVM.Jars)
	}
	resolved.Worker = append(resolved.Worker, resolved.JVM.Arguments()...)
	return nil, nil
}

// holdsJar says what is wrong with a path that is no jar and no folder of jars.
func holdsJar(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return nil
	}
	found, err := filepath.Glob(filepath.Join(path, "*.jar"))
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("no jar in the folder %s", path)
	}
	return err
}
