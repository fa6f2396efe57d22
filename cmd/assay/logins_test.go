package main

import (
	"slices"
	"strings"
	"testing"

	"assay/drivers"
	"assay/internal/experiment/read"
	"assay/store"
)

// Who types a URL with a login is told an option, which the driver has, if it takes a login at all.
func TestLoginsAreGivenByOptionsThatDriversHave(t *testing.T) {
	for _, driver := range drivers.All() {
		d := driver.Describe()
		has := func(option string) bool {
			return slices.ContainsFunc(d.Options, func(o store.Option) bool { return o.Name == option })
		}
		if !has("credentials_env") && !has("user") && !has("password_file") {
			continue
		}
		_, err := read.Quick([]string{d.Name + "://u:hunter2@localhost:1/x"}, nil, "", nil, nil)
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", d.Name, err)
			continue
		}
		_, after, _ := strings.Cut(err.Error(), "?")
		if option, _, _ := strings.Cut(after, "="); !has(option) {
			t.Errorf("%s has no option %q: %v", d.Name, option, err)
		}
	}
}
