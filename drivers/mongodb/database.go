package mongodb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"assay/drivers/internal/sqlkv"
	"assay/store"
)

// plainCollection is the collection of keys and values. Records with columns have one for each
// definition, whose name continues this one.
const plainCollection = "records"

// sessions is the collection that marks a database of Assay's. It has a document for each open
// store: none drops what another one uses.
const sessions = "assay_sessions"

var ours = regexp.MustCompile("^" + plainCollection + "(_[0-9a-f]{16})?$")

// session is a document of an open store. Of this machine's, one whose process has ended is gone.
type session struct {
	ID      bson.ObjectID `bson:"_id"`
	Host    string        `bson:"host"`
	Process int           `bson:"process"`
}

func (s session) ended(host string) bool {
	if s.Host != host {
		return false
	}
	_, err := os.Stat("/proc/" + strconv.Itoa(s.Process))
	return errors.Is(err, os.ErrNotExist)
}

// prepare makes the database and its plain collection.
func (d *db) prepare(ctx context.Context, drop bool) error {
	names, err := d.collections(ctx)
	if err != nil {
		return err
	}
	if len(names) > 0 && !slices.Contains(names, sessions) {
		return fmt.Errorf("database %s is there, and Assay did not make it: option database names another: %w",
			d.database.Name(), store.ErrRefused)
	}
	if err := d.enter(ctx); err != nil {
		return err
	}
	if err := d.fill(ctx, names, drop); err != nil {
		_, leaving := d.alone(ctx)
		return errors.Join(err, leaving)
	}
	return nil
}

// fill counts what the collections hold, drops them if that is asked for, and makes the plain one.
func (d *db) fill(ctx context.Context, names []string, drop bool) error {
	names = slices.DeleteFunc(names, func(name string) bool { return !ours.MatchString(name) })
	for _, name := range names {
		n, err := d.database.Collection(name).EstimatedDocumentCount(ctx)
		if err != nil {
			return failure(d.name, "count", err)
		}
		d.held += uint64(n)
	}
	if drop {
		others, err := d.others(ctx)
		if err != nil {
			return err
		}
		if others > 0 {
			return fmt.Errorf("flush_at_open: another Assay uses database %s (collection %s has its document): %w",
				d.database.Name(), sessions, store.ErrRefused)
		}
		if err := d.drop(ctx, names); err != nil {
			return err
		}
	}
	return d.create(ctx, plainCollection)
}

// collections are the names of those in the database.
func (d *db) collections(ctx context.Context) ([]string, error) {
	names, err := d.database.ListCollectionNames(ctx, bson.D{})
	return names, failure(d.name, "listCollections", err)
}

func (d *db) drop(ctx context.Context, names []string) error {
	for _, name := range names {
		if err := d.database.Collection(name).Drop(ctx); err != nil {
			return failure(d.name, "drop", err)
		}
	}
	return nil
}

// namespaceExists is the server's code for a collection that is there.
const namespaceExists = 48

func (d *db) create(ctx context.Context, name string) error {
	err := d.database.CreateCollection(ctx, name)
	var server mongo.ServerError
	if errors.As(err, &server) && server.HasErrorCode(namespaceExists) {
		return nil
	}
	return failure(d.name, "create", err)
}

// enter writes this store's session. In a class that needs a journal it is a write with j: true,
// which a server without one refuses.
func (d *db) enter(ctx context.Context) error {
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	concern := d.options.WriteConcern
	if d.class != store.D0 {
		concern = &writeconcern.WriteConcern{W: 1, Journal: new(true)}
	}
	d.session = bson.NewObjectID()
	collection := d.database.Collection(sessions, options.Collection().SetWriteConcern(concern))
	_, err = collection.InsertOne(ctx, session{d.session, host, os.Getpid()})
	return failure(d.name, "insert", err)
}

// others counts the sessions of other open stores, and removes those whose process has ended.
func (d *db) others(ctx context.Context) (n int, err error) {
	host, err := os.Hostname()
	if err != nil {
		return 0, err
	}
	cursor, err := d.database.Collection(sessions).Find(ctx, bson.D{})
	if err != nil {
		return 0, failure(d.name, "find", err)
	}
	var all []session
	if err := cursor.All(ctx, &all); err != nil {
		return 0, failure(d.name, "find", err)
	}
	for _, s := range all {
		switch {
		case s.ID == d.session:
		case s.ended(host):
			if err := d.remove(ctx, s.ID); err != nil {
				return 0, err
			}
		default:
			n++
		}
	}
	return n, nil
}

func (d *db) remove(ctx context.Context, id bson.ObjectID) error {
	_, err := d.database.Collection(sessions).DeleteOne(ctx, bson.D{{Key: keyField, Value: id}})
	return failure(d.name, "delete", err)
}

// alone removes this store's session and says if there is no other.
func (d *db) alone(ctx context.Context) (bool, error) {
	if err := d.remove(ctx, d.session); err != nil {
		return false, err
	}
	others, err := d.others(ctx)
	return others == 0, err
}

// leave drops the collections if all are empty and no other Assay has the database open, and then
// the database if nothing of anybody's is left in it. A trial's keys are deleted when it ends, so
// that the last one leaves nothing. Of two that come and go within the same milliseconds one may
// drop what the other has just made: the server has no lock to hold meanwhile.
func (d *db) leave(ctx context.Context) error {
	if alone, err := d.alone(ctx); err != nil || !alone {
		return err
	}
	names, err := d.collections(ctx)
	if err != nil {
		return err
	}
	mine := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !ours.MatchString(name) })
	for _, name := range mine {
		err := d.database.Collection(name).FindOne(ctx, bson.D{}).Err()
		if !errors.Is(err, mongo.ErrNoDocuments) { // it holds a record, or does not tell
			return failure(d.name, "find", err)
		}
	}
	if err := d.drop(ctx, mine); err != nil || len(names) > len(mine)+1 {
		return err
	}
	return failure(d.name, "dropDatabase", d.database.Drop(ctx))
}

// Define makes a collection for these columns and indexes.
func (d *db) Define(columns []store.Column, indexes []store.Index, queries []store.Query) error {
	l := layout{driver: d.name, collection: plainCollection + "_" + sqlkv.Fingerprint(columns, indexes),
		columns: append([]store.Column{}, columns...), indexes: make([]store.IndexKind, len(columns)), queries: queries}
	for _, c := range columns {
		if c.Name == keyField {
			return fmt.Errorf("%s: column %s has the name of the key's field: %w", d.name, c.Name, store.ErrRefused)
		}
	}
	var models []mongo.IndexModel
	for _, index := range indexes {
		if err := d.kind.indexes(index.Kind); err != nil {
			return err
		}
		l.indexes[index.Column] = index.Kind
		field := columns[index.Column].Name
		if index.Kind == store.TokenIndex {
			field += tokensSuffix
		}
		direction := 1
		if index.Descending {
			direction = -1
		}
		models = append(models, mongo.IndexModel{Keys: bson.D{{Key: field, Value: direction}}})
	}
	ctx, cancel := d.control()
	defer cancel()
	if err := d.create(ctx, l.collection); err != nil {
		return err
	}
	// One at a time: FerretDB panics when two of a list are there already.
	for _, model := range models {
		if _, err := d.database.Collection(l.collection).Indexes().CreateOne(ctx, model); err != nil {
			return failure(d.name, "createIndexes", err)
		}
	}
	d.layout = l
	return nil
}
