package mongodb

import (
	"context"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"assay/store"
)

// journalLoss is what a power cut may take of writes that mongod acknowledged without a sync: up to
// 500 ms between two syncs of the journal (storage.journal.commitIntervalMs), and the time of one.
const journalLoss = 2 * time.Second

// mongod is MongoDB's own server. Its sessions choose their class.
type mongod struct{}

func (mongod) concern(class store.Durability) *writeconcern.WriteConcern {
	journal := class == store.D3
	return &writeconcern.WriteConcern{W: 1, Journal: &journal}
}

// prove asks what the server is and where it keeps its documents. That it has a journal at all it
// shows by taking a write with j: true, which it refuses without (prepare does one).
func (mongod) prove(ctx context.Context, d *db) error {
	if err := d.takesWrites(ctx); err != nil {
		return err
	}
	build, err := d.command(ctx, "admin", bson.D{{Key: "buildInfo", Value: 1}})
	if err != nil {
		return err
	}
	if version := text(build, "ferretdbVersion"); version != "" {
		return fmt.Errorf("the server is FerretDB %s, which promises something else: driver ferretdb is for it: %w", version, store.ErrRefused)
	}
	d.settings["version"] = text(build, "version")
	status, err := d.command(ctx, "admin", bson.D{{Key: "serverStatus", Value: 1}})
	if err != nil {
		return err
	}
	if err := d.proveEngine(status); err != nil {
		return err
	}
	d.syncs = true
	if d.settings["storageEngine"] == "" { // it is not MongoDB
		_, d.syncs, err = d.adminCommand(ctx, "fsync")
	}
	return err
}

// proveEngine refuses D2 and D3 where the documents are not known to be in WiredTiger's files: of
// other servers that speak the protocol it is not known what they do.
func (d *db) proveEngine(status bson.Raw) error {
	engine := text(status, "storageEngine", "name")
	persistent, _ := status.Lookup("storageEngine", "persistent").BooleanOK()
	d.settings["storageEngine"] = engine
	switch {
	case d.class == store.D0:
		return nil
	case engine != "wiredTiger" || !persistent:
		return fmt.Errorf("the server reports storageEngine %q (persistent: %v), and %s needs wiredTiger and its journal: %w",
			engine, persistent, d.class, store.ErrRefused)
	case d.class == store.D2 && d.window < journalLoss:
		return fmt.Errorf("D2(%v): up to 500 ms pass between two syncs of the journal, and one takes its time: expected D2(%v) or more: %w",
			d.window, journalLoss, store.ErrRefused)
	}
	return nil
}

// TellDurability holds the engine of now against the class, and counts its journal's syncs.
func (d *db) TellDurability() (store.DurabilityEvidence, error) {
	if _, its := d.kind.(mongod); !its {
		return store.DurabilityEvidence{}, nil // FerretDB's settings are its process's arguments
	}
	status, err := d.status()
	if err != nil {
		return store.DurabilityEvidence{}, err
	}
	return d.evidenceOf(status)
}

func (d *db) evidenceOf(status bson.Raw) (store.DurabilityEvidence, error) {
	const counter = "log sync operations"
	evidence, err := store.Evidence(d.proveEngine(status))
	if syncs, told := number(status, []string{"wiredTiger", "log", counter}); told && err == nil {
		evidence = evidence.Counted(syncs, "wiredTiger.log."+counter, 0)
	}
	return evidence, err
}

// takesWrites refuses a server that takes no writes, and one that hands them on to others.
func (d *db) takesWrites(ctx context.Context) error {
	hello, known, err := d.adminCommand(ctx, "hello")
	if err == nil && !known { // the name before MongoDB 4.4.2
		hello, _, err = d.adminCommand(ctx, "isMaster")
	}
	if err != nil {
		return err
	}
	return refuseRole(hello)
}

func refuseRole(hello bson.Raw) error {
	writable, told := hello.Lookup("isWritablePrimary").BooleanOK()
	if !told {
		writable, _ = hello.Lookup("ismaster").BooleanOK()
	}
	switch {
	case text(hello, "msg") == "isdbgrid":
		return fmt.Errorf("the server is mongos, which hands writes on to others: %w", store.ErrRefused)
	case !writable:
		return fmt.Errorf("the server is no primary: it takes no writes: %w", store.ErrRefused)
	}
	return nil
}

// text is a string of an answer; "" where it has none.
func text(answer bson.Raw, path ...string) string {
	value, _ := answer.Lookup(path...).StringValueOK()
	return value
}

func (mongod) indexes(store.IndexKind) error { return nil }

// ferret is FerretDB. Its SQLite decides the class, for all sessions.
type ferret struct{}

// concern is the default: FerretDB ignores any (internal/handler/common/update_params.go).
func (ferret) concern(store.Durability) *writeconcern.WriteConcern { return writeconcern.W1() }

func (ferret) prove(ctx context.Context, d *db) error {
	if err := d.takesWrites(ctx); err != nil {
		return err
	}
	d.syncs = true
	settings, err := ferretSettings(ctx, d.client, d.endpoint)
	if err != nil {
		return err
	}
	for name, value := range settings {
		if name != "version" {
			name += " (asked)" // of its process: it does not report them itself
		}
		d.settings[name] = value
	}
	gives, why := ferretClass(settings)
	if gives != d.class {
		return fmt.Errorf("the server's settings give %s, and not %s: %s: %w", orNone(gives), d.class, why, store.ErrRefused)
	}
	return nil
}

func orNone(class store.Durability) string {
	if class == "" {
		return "no class"
	}
	return string(class)
}

// indexes refuses the tokens': FerretDB makes an index of SQLite on the text of the whole array.
func (ferret) indexes(kind store.IndexKind) error {
	if kind != store.OrderedIndex {
		return fmt.Errorf("ferretdb: an index of kind %s: its indexes don't look into arrays: %w", kind, store.ErrRefused)
	}
	return nil
}
