//go:build !race

package run

import (
	"assay/drivers"
	"assay/internal/execution/server"
	"assay/store"
)

func linked() []store.Driver { return drivers.All() }

func programOf(driver string) (server.Program, bool) { return drivers.Program(driver) }
