package assay.tokyocabinet;

import assay.driver.Bytes;
import assay.driver.Config;
import assay.driver.Handle;
import assay.driver.Status;
import assay.driver.Store;
import assay.drivers.Directory;
import java.io.IOException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * A database file of Tokyo Cabinet by its Java binding. All handles are one object, which the binding makes
 * safe for threads.
 */
abstract class Database implements Store.Sync {
    static final int KEY_BYTES_MAX = 1 << 20;
    static final int VALUE_BYTES_MAX = 1 << 30;

    private final Config config;
    private final int keyBytesMax;

    /** {@link #opened} reports an open that failed. */
    Database(Config config, int keyBytesMax) {
        this.config = config;
        this.keyBytesMax = keyBytesMax;
    }

    abstract int errorCode();

    abstract String errorText();

    abstract boolean flush();

    abstract boolean shut();

    abstract byte[] find(byte[] key);

    abstract boolean store(byte[] key, byte[] value);

    abstract boolean keep(byte[] key, byte[] value);

    abstract boolean remove(byte[] key);

    abstract double records();

    abstract double fileBytes();

    /** Is each write a transaction? */
    boolean transactional() {
        return false;
    }

    static String path(Config config, String file) {
        return Path.of(config.directory, file).toString();
    }

    void opened(boolean done) throws IOException {
        if (!done)
            throw failed();
        assay.drivers.UnpackedLibraries.remove();
        Directory.sync(config.directory);
    }

    IOException failed() {
        return new IOException(errorText());
    }

    interface Write {
        boolean apply();
    }

    /** Does a write; refusedBy is the code of the answer that is no error. */
    Status written(Write write, int refusedBy, Status refused) throws IOException {
        return write.apply() ? Status.OK : answer(refusedBy, refused);
    }

    Status answer(int refusedBy, Status refused) throws IOException {
        if (errorCode() == refusedBy)
            return refused;
        throw failed();
    }

    @Override
    public Handle open() {
        return new Access();
    }

    @Override
    public void sync() throws IOException {
        if (!flush())
            throw failed();
    }

    @Override
    public Map<String, Double> stats() {
        return Map.of("records", records(), "file_bytes", fileBytes());
    }

    /** The binding tells none of them back. */
    @Override
    public Map<String, String> settings() {
        Map<String, String> told = new LinkedHashMap<>();
        told.put("transaction_each_write", Boolean.toString(transactional()));
        for (String name : options())
            told.put(name, config.options.text(name) + " (asked)");
        return told;
    }

    abstract Iterable<String> options();

    @Override
    public void close() throws IOException {
        if (!shut())
            throw failed();
    }

    /** A handle is the store itself. */
    class Access implements Handle.Add {
        private void check(Bytes key, int valueBytes) {
            if (key.length > keyBytesMax || valueBytes > VALUE_BYTES_MAX)
                throw new IllegalArgumentException("the key is longer than " + keyBytesMax + " bytes or the value longer than 1 GiB");
        }

        @Override
        public Status get(Bytes key, Bytes value) throws IOException {
            byte[] found = find(key.toArray());
            if (found == null)
                return answer(noRecord(), Status.MISS);
            value.set(found);
            return Status.OK;
        }

        @Override
        public Status put(Bytes key, Bytes value) throws IOException {
            check(key, value.length);
            byte[] name = key.toArray(), content = value.toArray();
            return written(() -> store(name, content), -1, null);
        }

        @Override
        public Status add(Bytes key, Bytes value) throws IOException {
            check(key, value.length);
            byte[] name = key.toArray(), content = value.toArray();
            return written(() -> keep(name, content), keepsRecord(), Status.CONFLICT);
        }

        @Override
        public Status delete(Bytes key) throws IOException {
            byte[] name = key.toArray();
            return written(() -> remove(name), noRecord(), Status.MISS);
        }

        @Override
        public void close() {
            // the store's
        }
    }

    /** The codes of a record that is not there, and of one that is; the same in all of the library's types. */
    private static int noRecord() {
        return tokyocabinet.HDB.ENOREC;
    }

    private static int keepsRecord() {
        return tokyocabinet.HDB.EKEEP;
    }
}
