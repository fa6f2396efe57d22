package assay.cassandra;

import assay.driver.Bytes;
import assay.driver.Handle;
import assay.driver.Status;
import com.datastax.oss.driver.api.core.CqlSession;
import com.datastax.oss.driver.api.core.cql.BatchStatement;
import com.datastax.oss.driver.api.core.cql.BatchStatementBuilder;
import com.datastax.oss.driver.api.core.cql.BoundStatement;
import com.datastax.oss.driver.api.core.cql.DefaultBatchType;
import com.datastax.oss.driver.api.core.cql.PreparedStatement;
import com.datastax.oss.driver.api.core.cql.ResultSet;
import com.datastax.oss.driver.api.core.cql.Row;
import com.datastax.oss.driver.api.core.cql.SimpleStatement;
import com.datastax.oss.driver.api.core.ConsistencyLevel;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** A handle: a session, which multiplexes the requests of threads that share it. */
final class Rows implements Handle.Add, Handle.Batch, Handle.CompareAndSwap {
    static final int KEY_BYTES_MAX = 65535; // of a partition key
    /** Far below max_mutation_size, and below what one client may have on the way at a node with a small heap. */
    static final int VALUE_BYTES_MAX = 4 << 20;

    private final CqlSession session;
    private final PreparedStatement get, put, delete, add, swap;

    Rows(CqlSession session, String table, ConsistencyLevel read) {
        this.session = session;
        get = session.prepare(SimpleStatement.newInstance("SELECT v FROM " + table + " WHERE k = ?").setConsistencyLevel(read));
        put = session.prepare("INSERT INTO " + table + " (k, v) VALUES (?, ?)");
        delete = session.prepare("DELETE FROM " + table + " WHERE k = ?");
        add = session.prepare("INSERT INTO " + table + " (k, v) VALUES (?, ?) IF NOT EXISTS");
        swap = session.prepare("UPDATE " + table + " SET v = ? WHERE k = ? IF v = ?");
    }

    private interface Work {
        Status does() throws Exception;
    }

    private static Status done(Work work) throws Exception {
        try {
            return work.does();
        } catch (Exception e) {
            throw Failures.told(e);
        }
    }

    private static ByteBuffer key(Bytes key) throws IOException {
        if (key.length == 0 || key.length > KEY_BYTES_MAX)
            throw new IOException("a key has 1 to " + KEY_BYTES_MAX + " bytes");
        return ByteBuffer.wrap(key.toArray());
    }

    private static ByteBuffer value(Bytes value) throws IOException {
        if (value.length > VALUE_BYTES_MAX)
            throw new IOException("the value is longer than " + VALUE_BYTES_MAX + " bytes");
        return ByteBuffer.wrap(value.toArray());
    }

    @Override
    public Status get(Bytes key, Bytes value) throws Exception {
        return done(() -> {
            Row row = session.execute(get.bind(key(key))).one();
            if (row == null)
                return Status.MISS;
            ByteBuffer found = row.getByteBuffer(0);
            byte[] copy = new byte[found == null ? 0 : found.remaining()];
            if (found != null)
                found.get(copy);
            value.set(copy);
            return Status.OK;
        });
    }

    @Override
    public Status put(Bytes key, Bytes value) throws Exception {
        return done(() -> {
            session.execute(put.bind(key(key), value(value)));
            return Status.OK;
        });
    }

    /** It does not tell if the key was there: Cassandra writes a tombstone without a look. */
    @Override
    public Status delete(Bytes key) throws Exception {
        return done(() -> {
            session.execute(delete.bind(key(key)));
            return Status.OK;
        });
    }

    @Override
    public Status add(Bytes key, Bytes value) throws Exception {
        return done(() -> session.execute(add.bind(key(key), value(value))).wasApplied() ? Status.OK : Status.CONFLICT);
    }

    /** Where it was not applied, the value that is there comes back; without a row, no column does. */
    @Override
    public Status compareAndSwap(Bytes key, Bytes old, Bytes value) throws Exception {
        return done(() -> {
            ResultSet told = session.execute(swap.bind(value(value), key(key), value(old)));
            if (told.wasApplied())
                return Status.OK;
            return told.getColumnDefinitions().contains("v") ? Status.CONFLICT : Status.MISS;
        });
    }

    /** Logged. All of its writes have one time, by which two of one key would be ordered by their bytes: the last is sent. */
    @Override
    public Status batch(List<Write> writes) throws Exception {
        return done(() -> {
            Map<ByteBuffer, BoundStatement> last = new LinkedHashMap<>();
            for (Write write : writes) {
                ByteBuffer key = key(write.key);
                last.put(key, write.value == null ? delete.bind(key) : put.bind(key, value(write.value)));
            }
            BatchStatementBuilder all = BatchStatement.builder(DefaultBatchType.LOGGED);
            last.values().forEach(all::addStatement);
            if (!last.isEmpty())
                session.execute(all.build());
            return Status.OK;
        });
    }

    @Override
    public void close() {
        session.close();
    }
}
