package mongodb

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"assay/store"
)

// handle is a client with its pool of connections, which many threads may use.
type handle struct {
	client     *mongo.Client
	collection *mongo.Collection
	layout     *layout
	timeout    time.Duration
	ordered    bool
}

// swapper is a handle of a server that compares and replaces, and increments, in one step, and removes
// documents by their date.
type swapper struct {
	*handle
	ending *ending
}

// ending is the index by which the server finds documents whose date has come. It is made for the first
// one: collections without such documents are as they were.
type ending struct {
	once sync.Once
	err  error
}

func (e *ending) index(ctx context.Context, c *mongo.Collection) error {
	e.once.Do(func() {
		_, e.err = c.Indexes().CreateOne(ctx, mongo.IndexModel{Keys: bson.D{{Key: endField, Value: 1}},
			Options: options.Index().SetExpireAfterSeconds(0)})
	})
	return e.err
}

// PutFor is Put of a document with a date, at which it is over for the server's sweep alone: until then
// every read finds it.
func (h *swapper) PutFor(key, value []byte, ttl time.Duration) error {
	if h.layout.columns != nil {
		return h.outcome("put", errors.ErrUnsupported)
	}
	document, err := h.layout.documentUntil(key, value, time.Now().Add(ttl))
	if err != nil {
		return err
	}
	ctx, cancel := h.begin()
	defer cancel()
	if err := h.ending.index(ctx, h.collection); err != nil {
		return h.outcome("createIndexes", err)
	}
	_, err = h.collection.ReplaceOne(ctx, byKey(key), document, upsert)
	if mongo.IsDuplicateKeyError(err) {
		return store.ErrConflict
	}
	return h.outcome("put", err)
}

func (h *handle) begin() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), h.timeout)
}

func (h *handle) outcome(doing string, err error) error { return failure(h.layout.driver, doing, err) }

// Close closes the client's connections.
func (h *handle) Close() error {
	ctx, cancel := h.begin()
	defer cancel()
	return h.outcome("disconnect", h.client.Disconnect(ctx))
}

// Get finds a document by its key.
func (h *handle) Get(key, buf []byte) ([]byte, error) {
	ctx, cancel := h.begin()
	defer cancel()
	document, err := h.collection.FindOne(ctx, byKey(key)).Raw()
	if errors.Is(err, mongo.ErrNoDocuments) {
		return nil, store.ErrNotFound
	}
	if err != nil {
		return nil, h.outcome("get", err)
	}
	return h.layout.value(buf, document)
}

// MultiGet is one find of keys in a list. Its documents come in any order.
func (h *handle) MultiGet(keys, values [][]byte, buf []byte) (calls int, err error) {
	if h.layout.columns != nil {
		return 0, h.outcome("multi-get", errors.ErrUnsupported)
	}
	positions, list := make(map[string]int, len(keys)), make(bson.A, len(keys))
	for i, key := range keys {
		positions[string(key)], list[i] = i, byKey(key).Lookup(keyField)
	}
	var other error
	filter := bson.D{{Key: keyField, Value: bson.D{{Key: "$in", Value: list}}}}
	err = h.find("multi-get", filter, options.Find(), len(keys), h.layout.value, func(key, value []byte) bool {
		i, asked := positions[string(key)]
		if !asked {
			other = h.outcome("multi-get", errors.New("a document has another key"))
			return false
		}
		from := len(buf)
		buf = append(buf, value...)
		values[i] = buf[from:len(buf):len(buf)]
		return true
	})
	return 1, errors.Join(err, other)
}

var upsert = options.Replace().SetUpsert(true)

// Put replaces the document, or inserts it where there is none. Where another put inserts it in
// between, the server finds a duplicate, and has done nothing.
func (h *handle) Put(key, value []byte) error {
	document, err := h.layout.document(key, value)
	if err != nil {
		return err
	}
	ctx, cancel := h.begin()
	defer cancel()
	_, err = h.collection.ReplaceOne(ctx, byKey(key), document, upsert)
	if mongo.IsDuplicateKeyError(err) {
		return store.ErrConflict
	}
	return h.outcome("put", err)
}

// Add inserts the document: the server refuses a second one with the same key.
func (h *handle) Add(key, value []byte) error {
	document, err := h.layout.document(key, value)
	if err != nil {
		return err
	}
	ctx, cancel := h.begin()
	defer cancel()
	_, err = h.collection.InsertOne(ctx, document)
	if mongo.IsDuplicateKeyError(err) {
		return store.ErrConflict
	}
	return h.outcome("add", err)
}

// Delete removes the document. The server reports how many there were.
func (h *handle) Delete(key []byte) error {
	ctx, cancel := h.begin()
	defer cancel()
	result, err := h.collection.DeleteOne(ctx, byKey(key))
	if err == nil && result.DeletedCount == 0 {
		return store.ErrNotFound
	}
	return h.outcome("delete", err)
}

// DeletePrefix deletes all of them at once: the server does so in parts, and no transaction holds them.
func (h *handle) DeletePrefix(prefix []byte, _ int) (deleted int, err error) {
	ctx, cancel := h.begin()
	defer cancel()
	from, below := byKey(prefix).Lookup(keyField), byKey(store.After(prefix)).Lookup(keyField)
	result, err := h.collection.DeleteMany(ctx, bson.D{{Key: keyField, Value: bson.D{{Key: "$gte", Value: from}, {Key: "$lt", Value: below}}}})
	if err != nil {
		return 0, h.outcome("delete by prefix", err)
	}
	return int(result.DeletedCount), nil
}

// Modify is one update of the columns' fields. The server tells if it found the document.
func (h *handle) Modify(key []byte, columns []int, values [][]byte) error {
	update, err := h.layout.update(columns, values)
	if err != nil {
		return err
	}
	ctx, cancel := h.begin()
	defer cancel()
	result, err := h.collection.UpdateOne(ctx, byKey(key), update)
	if err == nil && result.MatchedCount == 0 {
		return store.ErrNotFound
	}
	return h.outcome("modify", err)
}

// Increment is one update by $inc. FerretDB has none: it finds and replaces in two steps.
func (h *swapper) Increment(key []byte, column int, by int64) error {
	if h.layout.columns == nil {
		return h.outcome("increment", errNotARecord)
	}
	ctx, cancel := h.begin()
	defer cancel()
	update := bson.D{{Key: "$inc", Value: bson.D{{Key: h.layout.columns[column].Name, Value: by}}}}
	result, err := h.collection.UpdateOne(ctx, byKey(key), update)
	if err == nil && result.MatchedCount == 0 {
		return store.ErrNotFound
	}
	return h.outcome("increment", err)
}

// CompareAndSwap is one replacement whose filter names the old value. Where it finds no document, a
// second question asks if the key is there at all.
func (h *swapper) CompareAndSwap(key, old, value []byte) error {
	document, err := h.layout.document(key, value)
	if err != nil {
		return err
	}
	filter, err := h.layout.document(key, old) // all fields, each equal
	if err != nil {
		return err
	}
	ctx, cancel := h.begin()
	defer cancel()
	result, err := h.collection.ReplaceOne(ctx, filter, document)
	if err != nil || result.MatchedCount > 0 {
		return h.outcome("compare and swap", err)
	}
	_, err = h.collection.FindOne(ctx, byKey(key)).Raw()
	switch {
	case errors.Is(err, mongo.ErrNoDocuments):
		return store.ErrNotFound
	case err != nil:
		return h.outcome("compare and swap", err)
	}
	return store.ErrConflict
}

// Apply is one bulk write. Unordered, the server may do the writes in any order, so that it gets
// the last of each key only.
func (h *handle) Apply(writes []store.Write) error {
	if len(writes) == 0 {
		return nil
	}
	var last map[string]int
	if !h.ordered {
		last = make(map[string]int, len(writes))
		for i := range writes {
			last[string(writes[i].Key)] = i
		}
	}
	models := make([]mongo.WriteModel, 0, len(writes))
	for i, w := range writes {
		if !h.ordered && last[string(w.Key)] != i {
			continue
		}
		if w.Delete {
			models = append(models, mongo.NewDeleteOneModel().SetFilter(byKey(w.Key)))
			continue
		}
		document, err := h.layout.document(w.Key, w.Value)
		if err != nil {
			return err
		}
		models = append(models, mongo.NewReplaceOneModel().SetFilter(byKey(w.Key)).SetReplacement(document).
			SetUpsert(true))
	}
	ctx, cancel := h.begin()
	defer cancel()
	_, err := h.collection.BulkWrite(ctx, models, options.BulkWrite().SetOrdered(h.ordered))
	return h.outcome("batch", err) // a duplicate is no conflict: writes before it were done
}

var byKeyOrder = bson.D{{Key: keyField, Value: 1}}

// Scan asks for as many documents as the caller will take, and again from behind the last one if it
// takes more.
func (h *handle) Scan(start []byte, limit int, visit func(key, value []byte) bool) error {
	limit = max(limit, 1)
	comparison, from := "$gte", append([]byte{}, start...)
	for {
		seen, more := 0, true
		err := h.find("scan", afterKey(comparison, from), options.Find().SetSort(byKeyOrder), limit, h.layout.value, func(key, value []byte) bool {
			seen++
			if more = visit(key, value); more && seen == limit {
				comparison, from = "$gt", append(from[:0], key...)
			}
			return more
		})
		if err != nil || !more || seen < limit {
			return err
		}
	}
}

func afterKey(comparison string, key []byte) bson.Raw {
	at, filter := bsoncore.AppendDocumentStart(nil)
	inner, filter := bsoncore.AppendDocumentElementStart(filter, keyField)
	return end(end(appendKey(filter, comparison, key), inner), at)
}

// find visits so many documents, of which value makes what is given.
func (h *handle) find(doing string, filter any, o *options.FindOptionsBuilder, limit int,
	value func([]byte, bson.Raw) ([]byte, error), visit func(key, value []byte) bool) (err error) {
	ctx, cancel := h.begin()
	defer cancel()
	// One answer has them all, where it has room.
	o.SetLimit(int64(limit)).SetBatchSize(int32(min(limit, math.MaxInt32-1)))
	cursor, err := h.collection.Find(ctx, filter, o)
	if err != nil {
		return h.outcome(doing, err)
	}
	defer func() {
		if closing := cursor.Close(ctx); err == nil {
			err = h.outcome(doing, closing)
		}
	}()
	var key, given []byte
	for cursor.Next(ctx) {
		text, _ := cursor.Current.Lookup(keyField).StringValueOK()
		key = keyOf(key[:0], text)
		if given, err = value(given[:0], cursor.Current); err != nil {
			return err
		}
		if !visit(key, given) {
			return nil
		}
	}
	return h.outcome(doing, cursor.Err())
}

var errNoQuery = errors.New("a query that was not defined")

func (h *handle) asked(doing string, query int, values [][]byte) (*store.Query, bson.D, error) {
	if query >= len(h.layout.queries) {
		return nil, nil, h.outcome(doing, errNoQuery)
	}
	q := &h.layout.queries[query]
	filter, err := h.layout.filter(q, values)
	return q, filter, err
}

// Query looks through the whole collection where there is no index that helps.
func (h *handle) Query(query int, values [][]byte, visit func(key, record []byte) bool) error {
	q, filter, err := h.asked("query", query, values)
	if err != nil {
		return err
	}
	o := options.Find()
	if sort, ordered := h.layout.order(q); ordered {
		o.SetSort(sort)
	}
	if len(q.Columns) < len(h.layout.columns) {
		var fields bson.D
		for _, column := range q.Columns {
			fields = append(fields, bson.E{Key: h.layout.columns[column].Name, Value: 1})
		}
		o.SetProjection(fields)
	}
	give := func(dst []byte, document bson.Raw) ([]byte, error) { return h.layout.found(dst, q, document) }
	return h.find("query", filter, o, q.Limit, give, visit)
}

// Count lets the server count.
func (h *handle) Count(query int, values [][]byte) (records uint64, err error) {
	_, filter, err := h.asked("count", query, values)
	if err != nil {
		return 0, err
	}
	ctx, cancel := h.begin()
	defer cancel()
	n, err := h.collection.CountDocuments(ctx, filter)
	return uint64(n), h.outcome("count", err)
}

// DeleteQuery is one deleteMany. The server reports how many documents it deleted.
func (h *handle) DeleteQuery(query int, values [][]byte) (records uint64, err error) {
	_, filter, err := h.asked("delete by query", query, values)
	if err != nil {
		return 0, err
	}
	ctx, cancel := h.begin()
	defer cancel()
	result, err := h.collection.DeleteMany(ctx, filter)
	if err != nil {
		return 0, h.outcome("delete by query", err)
	}
	return uint64(result.DeletedCount), nil
}
