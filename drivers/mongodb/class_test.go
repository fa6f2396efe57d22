package mongodb

import (
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"assay/store"
)

// statusOf is what a mongod tells that has synced its journal so often.
func statusOf(t *testing.T, engine string, persistent bool, syncs int64) bson.Raw {
	t.Helper()
	raw, err := bson.Marshal(bson.M{"storageEngine": bson.M{"name": engine, "persistent": persistent},
		"wiredTiger": bson.M{"log": bson.M{"log sync operations": syncs}}})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// A server that is another one after the phase, or keeps its documents in memory by then, does not
// keep the class; one whose journal stands still tells that by its counter.
func TestEvidenceOfMongod(t *testing.T) {
	t.Parallel()
	d := &db{kind: mongod{}, class: store.D3, window: time.Minute, settings: map[string]string{}}
	evidence, err := d.evidenceOf(statusOf(t, "wiredTiger", true, 42))
	if err != nil || evidence.Broken != "" || evidence.Syncs == nil || *evidence.Syncs != 42 || !strings.Contains(evidence.Counter, "log sync") {
		t.Errorf("%+v, %v", evidence, err)
	}
	for _, status := range []bson.Raw{statusOf(t, "inMemory", false, 42), statusOf(t, "wiredTiger", false, 42)} {
		if evidence, err := d.evidenceOf(status); err != nil || !strings.Contains(evidence.Broken, "D3 needs wiredTiger") {
			t.Errorf("%s: %+v, %v", status, evidence, err)
		}
	}
}
