package storetest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"testing"
	"time"

	"assay/drivers"
	"assay/store"
)

// Every driver of Assay passes the kit: no figure is worth more than the driver behind it.
func TestDrivers(t *testing.T) {
	for _, d := range drivers.All() {
		description := d.Describe()
		t.Run(description.Name, func(t *testing.T) {
			t.Parallel()
			if raceDetector && description.Name == "boltdb" {
				t.Skip(description.Note)
			}
			target := target(t, "drivers", description.Name)
			if description.Version == "" && description.Kind == store.Embedded {
				// The linker does not write a test binary's modules into it, so that this worker can't know its libraries' versions.
				target.Rules = slices.DeleteFunc(RuleNames(), func(name string) bool { return name == "version" })
			}
			if description.Kind == store.Server {
				target.Endpoints = []string{startServer(t, description.Name)}
			}
			Test(t, target)
		})
	}
}

// startServer starts the server of a driver on the loopback interface, empty, and ends it with the test.
func startServer(t *testing.T, driver string) string {
	t.Helper()
	if driver != "memcached" {
		t.Fatalf("no way is known to start a server for driver %s", driver)
	}
	program, err := exec.LookPath("memcached")
	if err != nil {
		t.Skip("memcached is not installed: ", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0") // for a port that is free
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	arguments := []string{"-l", "127.0.0.1", "-p", strconv.Itoa(port), "-m", "128"}
	if os.Geteuid() == 0 {
		arguments = append(arguments, "-u", "root")
	}
	server := exec.Command(program, arguments...)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill() // it has nothing to save
		_ = server.Wait()         // and says that it was killed
	})
	endpoint := fmt.Sprintf("127.0.0.1:%d", port)
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if connection, err := net.Dial("tcp", endpoint); err == nil {
			if err := connection.Close(); err != nil {
				t.Fatal(err)
			}
			return endpoint
		}
	}
	t.Fatalf("memcached did not listen on %s", endpoint)
	return ""
}
