package drivers_test

import (
	"fmt"
	"os"
	"testing"

	"assay/drivers"
	"assay/drivers/nats"
	"assay/store"
)

func TestMain(m *testing.M) {
	nats.ServeIfAsked()
	os.Exit(servers.End(m.Run()))
}

func driverNamed(name string) (store.Driver, error) {
	for _, driver := range drivers.All() {
		if driver.Describe().Name == name {
			return driver, nil
		}
	}
	return nil, fmt.Errorf("no driver %q", name)
}
