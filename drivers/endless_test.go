package drivers_test

import (
	"runtime"
	"strings"
	"testing"

	"assay/drivers"
	"assay/internal/testkit/drivertest"
	"assay/store"
)

// An option that names a file may name one that never ends: each is refused, and takes no memory.
//
// Fault (conductor): an option names a file that never ends (`credentials_file: /dev/zero`)
// Assay: refused when the store is opened: a login has at most 64 KiB, certificates 4 MiB
// With: assay.TestReadsAreBounded
func TestOptionsThatNameAnEndlessFile(t *testing.T) {
	tried := 0
	for _, driver := range drivers.All() {
		d := driver.Describe()
		for _, option := range d.Options {
			if option.Type != store.String || !strings.HasSuffix(option.Name, "_file") {
				continue
			}
			tried++
			t.Run(d.Name+"/"+option.Name, func(t *testing.T) {
				options := map[string]string{option.Name: "/dev/zero"}
				for _, o := range d.Options {
					switch o.Name {
					case "tls":
						if option.Name == "tls_ca_file" {
							options["tls"] = "true"
						}
					case "user":
						options["user"] = "somebody"
					}
				}
				c := drivertest.Config(t, d, d.Durability[0].Class, options)
				c.Endpoints = []string{"127.0.0.1:1"}
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				s, err := driver.Open(t.Context(), c)
				runtime.ReadMemStats(&after)
				if err == nil {
					_ = s.Close()
				}
				if err == nil || !strings.Contains(err.Error(), "too much to read") {
					t.Errorf("opened: %v", err)
				}
				if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > 64 {
					t.Errorf("took %d MB", took)
				}
			})
		}
	}
	if tried < 5 {
		t.Errorf("only %d options name files", tried)
	}
}
