// Command badger is a bare loop over Badger.
package main

import (
	"github.com/dgraph-io/badger/v4"

	"assay/bench/bareloop"
)

func main() { bareloop.Main(open) }

func open(directory string) (bareloop.Engine, error) {
	db, err := badger.Open(badger.DefaultOptions(directory).WithLogger(nil))
	if err != nil {
		return bareloop.Engine{}, err
	}
	return bareloop.Engine{
		Get: func(key, buf []byte) (value []byte, err error) {
			err = db.View(func(tx *badger.Txn) error {
				item, err := tx.Get(key)
				if err == nil {
					value, err = item.ValueCopy(buf)
				}
				return err
			})
			return value, err
		},
		Put: func(key, value []byte) error {
			return db.Update(func(tx *badger.Txn) error { return tx.Set(key, value) })
		},
		Close: db.Close,
	}, nil
}
