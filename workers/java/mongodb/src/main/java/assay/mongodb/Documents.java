package assay.mongodb;

import assay.driver.Bytes;
import assay.driver.Handle;
import assay.driver.Status;
import com.mongodb.ErrorCategory;
import com.mongodb.MongoException;
import com.mongodb.MongoExecutionTimeoutException;
import com.mongodb.MongoServerException;
import com.mongodb.MongoTimeoutException;
import com.mongodb.client.MongoClient;
import com.mongodb.client.MongoCollection;
import com.mongodb.client.MongoCursor;
import com.mongodb.client.model.BulkWriteOptions;
import com.mongodb.client.model.DeleteOneModel;
import com.mongodb.client.model.ReplaceOneModel;
import com.mongodb.client.model.ReplaceOptions;
import com.mongodb.client.model.WriteModel;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeoutException;
import org.bson.BsonBinary;
import org.bson.BsonDocument;
import org.bson.BsonInt32;
import org.bson.BsonString;
import org.bson.RawBsonDocument;

/** A handle: a client with its pool, which threads may share. */
final class Documents implements Handle.Add, Handle.Batch, Handle.CompareAndSwap, Handle.Scan {
    static final int KEY_BYTES_MAX = 64 << 10;
    static final int VALUE_BYTES_MAX = 15 << 20; // a document has at most 16 MiB
    private static final String KEY = "_id", VALUE = "v";
    private static final ReplaceOptions UPSERT = new ReplaceOptions().upsert(true);
    private static final BsonDocument BY_KEY = new BsonDocument(KEY, new BsonInt32(1));

    private final MongoClient client;
    private final MongoCollection<RawBsonDocument> records;
    private final MongoCollection<BsonDocument> written;

    Documents(MongoClient client, MongoCollection<RawBsonDocument> records) {
        this.client = client;
        this.records = records;
        written = records.withDocumentClass(BsonDocument.class);
    }

    private interface Work {
        Status does() throws Exception;
    }

    private static Status done(Work work) throws Exception {
        try {
            return work.does();
        } catch (MongoException e) {
            throw told(e);
        }
    }

    private static boolean isDuplicate(MongoException e) {
        return ErrorCategory.fromErrorCode(e.getCode()) == ErrorCategory.DUPLICATE_KEY;
    }

    /** Its time-outs are none of java.util.concurrent's, and its messages hold keys and the numbers of connections. */
    static Exception told(MongoException e) {
        if (e instanceof MongoTimeoutException || e instanceof MongoExecutionTimeoutException)
            return (Exception) new TimeoutException(e.getClass().getSimpleName()).initCause(e);
        String text = e instanceof MongoServerException ? "the server's error " + e.getCode() : e.getClass().getSimpleName();
        return new IOException(text, e);
    }

    /** The string in which each byte is a character: its order, bytewise in UTF-8, is the keys' own. */
    private static BsonString key(Bytes key) throws IOException {
        if (key.length > KEY_BYTES_MAX)
            throw new IOException("the key is longer than " + KEY_BYTES_MAX + " bytes");
        return new BsonString(key.toText());
    }

    private static BsonDocument byKey(Bytes key) throws IOException {
        return new BsonDocument(KEY, key(key));
    }

    private static BsonDocument document(Bytes key, Bytes value) throws IOException {
        if (value.length > VALUE_BYTES_MAX)
            throw new IOException("the value is longer than " + VALUE_BYTES_MAX + " bytes");
        return byKey(key).append(VALUE, new BsonBinary(value.toArray()));
    }

    @Override
    public Status get(Bytes key, Bytes value) throws Exception {
        return done(() -> {
            RawBsonDocument found = records.find(byKey(key)).first();
            if (found == null)
                return Status.MISS;
            value.set(found.getBinary(VALUE).getData());
            return Status.OK;
        });
    }

    /** Where another put inserts the document in between, the server finds a duplicate, and has done nothing. */
    @Override
    public Status put(Bytes key, Bytes value) throws Exception {
        return done(() -> {
            try {
                written.replaceOne(byKey(key), document(key, value), UPSERT);
                return Status.OK;
            } catch (MongoException e) {
                if (isDuplicate(e))
                    return Status.CONFLICT;
                throw e;
            }
        });
    }

    @Override
    public Status delete(Bytes key) throws Exception {
        return done(() -> records.deleteOne(byKey(key)).getDeletedCount() > 0 ? Status.OK : Status.MISS);
    }

    @Override
    public Status add(Bytes key, Bytes value) throws Exception {
        return done(() -> {
            try {
                written.insertOne(document(key, value));
                return Status.OK;
            } catch (MongoException e) {
                if (isDuplicate(e))
                    return Status.CONFLICT;
                throw e;
            }
        });
    }

    @Override
    public Status compareAndSwap(Bytes key, Bytes old, Bytes value) throws Exception {
        return done(() -> {
            if (written.replaceOne(document(key, old), document(key, value)).getMatchedCount() > 0)
                return Status.OK;
            return records.find(byKey(key)).first() == null ? Status.MISS : Status.CONFLICT;
        });
    }

    @Override
    public Status batch(List<Write> writes) throws Exception {
        return done(() -> {
            List<WriteModel<BsonDocument>> all = new ArrayList<>(writes.size());
            for (Write write : writes)
                all.add(write.value == null ? new DeleteOneModel<>(byKey(write.key))
                        : new ReplaceOneModel<>(byKey(write.key), document(write.key, write.value), UPSERT));
            if (!all.isEmpty())
                written.bulkWrite(all, new BulkWriteOptions().ordered(true));
            return Status.OK;
        });
    }

    /** Asks for as many documents as will be taken, and again from behind the last one where more are. */
    @Override
    public Status scan(Bytes start, int limit, Visitor visitor) throws Exception {
        return done(() -> {
            int most = Math.max(limit, 1);
            Bytes key = new Bytes(), value = new Bytes();
            BsonDocument from = new BsonDocument("$gte", key(start));
            for (int seen = most; seen == most;) {
                seen = 0;
                try (MongoCursor<RawBsonDocument> found = records.find(new BsonDocument(KEY, from)).sort(BY_KEY).limit(most).batchSize(most).iterator()) {
                    while (found.hasNext()) {
                        RawBsonDocument document = found.next();
                        String text = document.getString(KEY).getValue();
                        key.set(text.getBytes(java.nio.charset.StandardCharsets.ISO_8859_1));
                        value.set(document.getBinary(VALUE).getData());
                        if (!visitor.visit(key, value))
                            return Status.OK;
                        seen++;
                        from = new BsonDocument("$gt", new BsonString(text));
                    }
                }
            }
            return Status.OK;
        });
    }

    @Override
    public void close() {
        client.close();
    }
}
