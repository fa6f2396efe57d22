package postgres

import (
	"fmt"

	"assay/store"
)

// synchronousCommit is what a session of a class is set to.
var synchronousCommit = map[store.Durability]string{store.D0: "off", store.D1: "on", store.D3: "on"}

// needs are the settings that the server must tell for a class. D0 takes any: its commits are lost
// with the server's process, whatever happens to the log later.
var needs = map[store.Durability][][2]string{
	store.D0: {{"synchronous_commit", "off"}},
	store.D1: {{"synchronous_commit", "on"}, {"fsync", "off"}},
	store.D3: {{"synchronous_commit", "on"}, {"fsync", "on"}, {"full_page_writes", "on"}},
}

// prove asks the server for the settings on which the class rests.
func (d *db) prove() error {
	for _, need := range needs[d.class] {
		told, err := d.value("SHOW " + need[0])
		if err != nil {
			return err
		}
		if told != need[1] {
			return fmt.Errorf("the server runs with %s=%s, and %s needs %s=%s: %w",
				need[0], told, d.class, need[0], need[1], store.ErrRefused)
		}
	}
	return nil
}
