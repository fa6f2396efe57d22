// Command pebble is a bare loop over Pebble.
package main

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"assay/bench/bareloop"
)

func main() { bareloop.Main(open) }

func open(directory string) (bareloop.Engine, error) {
	db, err := pebble.Open(directory, &pebble.Options{Logger: quiet{}})
	if err != nil {
		return bareloop.Engine{}, err
	}
	return bareloop.Engine{
		Get: func(key, buf []byte) ([]byte, error) {
			value, closer, err := db.Get(key)
			if err != nil {
				return nil, err
			}
			buf = append(buf, value...)
			return buf, closer.Close()
		},
		Put:   func(key, value []byte) error { return db.Set(key, value, pebble.NoSync) },
		Close: db.Close,
	}, nil
}

type quiet struct{}

func (quiet) Infof(string, ...any)  {}
func (quiet) Errorf(string, ...any) {}
func (quiet) Fatalf(format string, args ...any) {
	panic(fmt.Sprintf(format, args...))
}
