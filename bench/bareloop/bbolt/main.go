// Command bbolt is a bare loop over bbolt.
package main

import (
	"go.etcd.io/bbolt"

	"assay/bench/bareloop"
)

func main() { bareloop.Main(open) }

func open(directory string) (bareloop.Engine, error) {
	db, err := bbolt.Open(directory+"/db", 0o600, &bbolt.Options{NoSync: true})
	if err != nil {
		return bareloop.Engine{}, err
	}
	name := []byte("kv")
	err = db.Update(func(tx *bbolt.Tx) error { _, err := tx.CreateBucketIfNotExists(name); return err })
	return bareloop.Engine{
		Get: func(key, buf []byte) (value []byte, err error) {
			err = db.View(func(tx *bbolt.Tx) error {
				value = append(buf, tx.Bucket(name).Get(key)...)
				return nil
			})
			return value, err
		},
		Put: func(key, value []byte) error {
			return db.Update(func(tx *bbolt.Tx) error { return tx.Bucket(name).Put(key, value) })
		},
		Close: db.Close,
	}, err
}
