package server

import (
	"context"
	"fmt"

	"assay/internal/experiment"
)

// Startable is what experiments ask of the servers that programs returns.
func Startable(programs func(driver string) (Program, bool)) func(driver string) (experiment.Program, bool) {
	return func(driver string) (experiment.Program, bool) {
		p, known := programs(driver)
		return experiment.Program{
			Make: p.Builds.Make, Makes: p.Builds.Programs,
			Options: p.Options, AnySetting: p.AnySetting, InMemory: p.InMemory, Linked: p.Linked,
			Roams: p.roams, Check: p.Check,
			Find: func(binary string) error {
				named := p.By(binary)
				if binary != "" && p.Linked {
					return fmt.Errorf("%s is a part of Assay: it has no program of its own", p.Driver)
				}
				_, err := named.Find()
				return err
			},
			Identify: func(binary string) (product, version string, err error) {
				named := p.By(binary)
				found, err := named.Find()
				if err != nil {
					return "", "", err
				}
				told, err := named.Identify(context.Background(), found) // which has a patience of its own
				return told.Product, told.Version, err
			},
		}, known
	}
}
