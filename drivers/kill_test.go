package drivers_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

	"assay/drivers"
	"assay/drivers/nats"
	"assay/internal/testkit/drivertest"
	"assay/store"
)

// The test's own program, started again with these, writes until it is killed.
const (
	writerDriver    = "ASSAY_TEST_WRITER_DRIVER"
	writerClass     = "ASSAY_TEST_WRITER_CLASS"
	writerDirectory = "ASSAY_TEST_WRITER_DIRECTORY"
)

func TestMain(m *testing.M) {
	nats.ServeIfAsked()
	if name := os.Getenv(writerDriver); name != "" {
		err := writeUntilKilled(name, store.Durability(os.Getenv(writerClass)), os.Getenv(writerDirectory))
		fmt.Fprintln(os.Stderr, "writer:", err)
		os.Exit(1)
	}
	os.Exit(servers.End(m.Run()))
}

func record(i uint64) (key, value []byte) {
	return fmt.Appendf(nil, "key-%08d", i*7919%100_000_007), bytes.Repeat([]byte{byte(i), byte(i >> 8)}, 50+int(i%100))
}

// writeUntilKilled tells each acknowledged write on standard output, after it was acknowledged.
func writeUntilKilled(name string, class store.Durability, directory string) error {
	driver, err := driverNamed(name)
	if err != nil {
		return err
	}
	options, err := store.Resolve(driver.Describe().Options, nil)
	if err != nil {
		return err
	}
	s, err := driver.Open(context.Background(), store.Config{Directory: directory, Durability: class, Options: options, Threads: 1, Handles: 1})
	if err != nil {
		return err
	}
	h, err := s.Handle()
	if err != nil {
		return err
	}
	for i := uint64(0); ; i++ {
		if err := h.Put(record(i)); err != nil {
			return err
		}
		if err := binary.Write(os.Stdout, binary.LittleEndian, i); err != nil {
			return err
		}
	}
}

func driverNamed(name string) (store.Driver, error) {
	for _, driver := range drivers.All() {
		if driver.Describe().Name == name {
			return driver, nil
		}
	}
	return nil, fmt.Errorf("no driver %q", name)
}

// TestAcknowledgedWritesSurviveTheProcess kills a writer in the middle of its work. It is what D1
// claims, and D3 claims more. (Pebble at D0, put through this test by hand, loses writes: it can
// fail.)
func TestAcknowledgedWritesSurviveTheProcess(t *testing.T) {
	each(t, func(t *testing.T, driver store.Driver, c store.Config) {
		d := driver.Describe()
		if c.Durability == store.D0 {
			t.Skip("SKIPPED: D0 does not survive the process")
		}
		if d.Kind == store.Server {
			t.Skip("SKIPPED: the process that keeps the records is the server's, which the driver's own tests kill")
		}
		acknowledged := killWriter(t, d.Name, c)
		_, h := drivertest.Open(t, driver, c)
		for i := range acknowledged {
			key, value := record(i)
			mustGet(t, h, key, value)
			if t.Failed() {
				t.Fatalf("lost write %d of %d acknowledged", i, acknowledged)
			}
		}
	})
}

func killWriter(t *testing.T, name string, c store.Config) (acknowledged uint64) {
	t.Helper()
	const killAfter = 300 // what is lost are the last ones, however many there were
	writer := exec.Command(os.Args[0])
	writer.Env = append(os.Environ(), writerDriver+"="+name, writerClass+"="+string(c.Durability), writerDirectory+"="+c.Directory)
	writer.Stderr = os.Stderr
	output, err := writer.StdoutPipe()
	must(t, err)
	must(t, writer.Start())
	r := bufio.NewReader(output)
	var i uint64
	for {
		err := binary.Read(r, binary.LittleEndian, &i)
		if err != nil {
			break // what was acknowledged before the kill has been read
		}
		acknowledged = i + 1
		if acknowledged == killAfter {
			must(t, writer.Process.Kill())
		}
	}
	_, _ = io.Copy(io.Discard, r)
	if err := writer.Wait(); err == nil {
		t.Fatal("the writer ended by itself")
	}
	if acknowledged < killAfter {
		t.Fatalf("the writer died by itself after %d writes", acknowledged)
	}
	return acknowledged
}
