package main

import (
	"strings"
	"testing"

	"assay/drivers"
	"assay/internal/experiment/read"
)

// Each product of whose program a driver knows the name is started by its own name: redict@start.
func TestOtherProductsAreStartedByName(t *testing.T) {
	for _, p := range drivers.Programs() {
		for _, binary := range p.Others {
			name := strings.TrimSuffix(binary, "-server")
			known := read.DriverNamed(name) == p.Driver
			if !known || !read.StartsAlone(name, programKnown) {
				t.Errorf("%s of driver %s is started by no name: add %q to the products in internal/experiment/read/arms.go",
					binary, p.Driver, name)
			}
		}
	}
}
