package read

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"assay/internal/experiment"
)

// jvm resolves which jars and which JVM an arm has, and completes its worker's command. An error that
// wraps ErrNotHere says that Maven is missing.
func (r storeResolver) jvm(s StoreFile, resolved *experiment.Store) (*Error, error) {
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
	resolved.JVM = &experiment.JVM{HeapBytes: orCount64(s.Java.Heap, 0), DirectBytes: orCount64(s.Java.Direct, 0),
		Collector: string(s.Java.Collector), Flags: s.Java.Flags}
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
