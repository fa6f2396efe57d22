package redis

import (
	"errors"
	"testing"

	"assay/store"
)

// SetPassword makes the server of an open store ask every new connection for a password, until the
// test ends.
func SetPassword(t *testing.T, s store.Store, password string) {
	t.Helper()
	set := func(password string) error {
		control := s.(*db).control
		return errors.Join(control.Begin(), control.ask("CONFIG SET", "CONFIG", "SET", "requirepass", password))
	}
	if err := set(password); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := set(""); err != nil {
			t.Error(err)
		}
	})
}
