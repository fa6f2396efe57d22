package assay.jdbc;

import assay.driver.Bytes;
import assay.driver.Handle;
import assay.driver.Status;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.List;

/** A handle: the operations over {@link Connections}. */
final class Access implements Handle.Add, Handle.Batch, Handle.CompareAndSwap, Handle.Scan {
    /** The texts of statements on the table. */
    record Statements(String get, String put, String add, String swap, String remove, String there, String scan) {}

    private interface Work {
        Status on(Connections.Lease lease) throws SQLException;
    }

    private final Connections connections;
    private final Statements statements;
    private final int keyBytesMax;
    private final int valueBytesMax;

    Access(Connections connections, Statements statements, int keyBytesMax, int valueBytesMax) {
        this.connections = connections;
        this.statements = statements;
        this.keyBytesMax = keyBytesMax;
        this.valueBytesMax = valueBytesMax;
    }

    private Status done(Work work) throws Exception {
        try (Connections.Lease lease = connections.take()) {
            try {
                return work.on(lease);
            } catch (SQLException e) {
                lease.failed(e);
                if (Failures.isConflict(e))
                    return Status.CONFLICT;
                throw e;
            }
        } catch (SQLException e) {
            throw Failures.told(e);
        }
    }

    private void check(Bytes key, Bytes value) {
        if (key.length > keyBytesMax)
            throw new IllegalArgumentException("the key is longer than " + keyBytesMax + " bytes");
        if (value.length > valueBytesMax)
            throw new IllegalArgumentException("the value is longer than " + valueBytesMax + " bytes");
    }

    @Override
    public Status get(Bytes key, Bytes value) throws Exception {
        return done(lease -> {
            PreparedStatement s = lease.prepared(statements.get);
            s.setBytes(1, key.toArray());
            try (ResultSet rows = s.executeQuery()) {
                if (!rows.next())
                    return Status.MISS;
                value.set(rows.getBytes(1));
                return Status.OK;
            }
        });
    }

    /** Returns how many rows a statement with these parameters found. */
    private static int found(Connections.Lease lease, String text, byte[]... parameters) throws SQLException {
        PreparedStatement s = lease.prepared(text);
        for (int i = 0; i < parameters.length; i++)
            s.setBytes(i + 1, parameters[i]);
        return s.executeUpdate();
    }

    @Override
    public Status put(Bytes key, Bytes value) throws Exception {
        check(key, value);
        return done(lease -> {
            found(lease, statements.put, key.toArray(), value.toArray());
            return Status.OK;
        });
    }

    /** A key that is there is no row where the statement skips it (PostgreSQL), and otherwise an error. */
    @Override
    public Status add(Bytes key, Bytes value) throws Exception {
        check(key, value);
        return done(lease -> {
            try {
                return found(lease, statements.add, key.toArray(), value.toArray()) > 0 ? Status.OK : Status.CONFLICT;
            } catch (SQLException e) {
                if (Failures.isDuplicate(e))
                    return Status.CONFLICT;
                throw e;
            }
        });
    }

    @Override
    public Status delete(Bytes key) throws Exception {
        return done(lease -> found(lease, statements.remove, key.toArray()) > 0 ? Status.OK : Status.MISS);
    }

    /** One UPDATE that names the old value. Where it finds no row, a second statement asks if the key is there. */
    @Override
    public Status compareAndSwap(Bytes key, Bytes old, Bytes value) throws Exception {
        check(key, value);
        return done(lease -> {
            byte[] name = key.toArray();
            if (found(lease, statements.swap, value.toArray(), name, old.toArray()) > 0)
                return Status.OK;
            PreparedStatement s = lease.prepared(statements.there);
            s.setBytes(1, name);
            try (ResultSet rows = s.executeQuery()) {
                return rows.next() ? Status.CONFLICT : Status.MISS;
            }
        });
    }

    @Override
    public Status batch(List<Write> writes) throws Exception {
        for (Write write : writes)
            if (write.value != null)
                check(write.key, write.value);
        return done(lease -> {
            Connection connection = lease.connection();
            connection.setAutoCommit(false);
            try {
                for (int from = 0, to; from < writes.size(); from = to) {
                    to = from;
                    while (to < writes.size() && (writes.get(to).value == null) == (writes.get(from).value == null))
                        to++;
                    send(lease, writes.subList(from, to));
                }
                connection.commit();
            } catch (SQLException e) {
                if (!Failures.breaks(e)) {
                    connection.rollback();
                    connection.setAutoCommit(true);
                }
                throw e;
            }
            connection.setAutoCommit(true);
            return Status.OK;
        });
    }

    /** Sends puts, or deletes: JDBC's batch is of one statement. */
    private void send(Connections.Lease lease, List<Write> alike) throws SQLException {
        boolean puts = alike.get(0).value != null;
        PreparedStatement s = lease.prepared(puts ? statements.put : statements.remove);
        s.clearBatch(); // of one that failed before it was sent
        for (Write write : alike) {
            s.setBytes(1, write.key.toArray());
            if (puts)
                s.setBytes(2, write.value.toArray());
            s.addBatch();
        }
        s.executeBatch();
    }

    /** Asks for as many records as will be taken, and again from behind the last one if more are. */
    @Override
    public Status scan(Bytes start, int limit, Visitor visitor) throws Exception {
        Bytes key = new Bytes(), value = new Bytes();
        byte[][] from = {start.toArray()};
        int most = Math.max(limit, 1);
        boolean[] more = {true};
        Status status = Status.OK;
        while (more[0] && status == Status.OK) {
            status = done(lease -> {
                PreparedStatement s = lease.prepared(statements.scan);
                s.setBytes(1, from[0]);
                s.setInt(2, most);
                try (ResultSet rows = s.executeQuery()) {
                    int seen = 0;
                    for (; more[0] && rows.next(); seen++) {
                        byte[] found = rows.getBytes(1);
                        key.set(found);
                        value.set(rows.getBytes(2));
                        from[0] = java.util.Arrays.copyOf(found, found.length + 1); // the next key that can be
                        more[0] = visitor.visit(key, value);
                    }
                    more[0] = more[0] && seen == most;
                }
                return Status.OK;
            });
        }
        return status;
    }

    @Override
    public void close() throws Exception {
        connections.close();
    }
}
