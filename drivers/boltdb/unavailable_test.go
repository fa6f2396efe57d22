//go:build race

package boltdb_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"assay/drivers/boltdb"
	"assay/store"
)

func TestIsListedAndRefusesUnderTheRaceDetector(t *testing.T) {
	d := boltdb.Driver{}.Describe()
	if !strings.Contains(d.Note, "race detector") || d.Abilities != (store.Abilities{}) {
		t.Errorf("the description does not say why it can't be opened: %+v", d)
	}
	if _, err := (boltdb.Driver{}).Open(context.Background(), store.Config{Durability: store.D3}); !errors.Is(err,
		store.ErrRefused) {
		t.Errorf("expected a refusal, got %v", err)
	}
}
