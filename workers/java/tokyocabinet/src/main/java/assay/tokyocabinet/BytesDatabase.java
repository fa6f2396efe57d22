package assay.tokyocabinet;

import assay.driver.Config;
import tokyocabinet.DBM;

/** A database whose keys and values are bytes: hash, B+tree and array, whose calls on records the binding has in common. */
abstract class BytesDatabase extends Database {
    private final DBM db;

    BytesDatabase(Config config, DBM db, int keyBytesMax) {
        super(config, keyBytesMax);
        this.db = db;
    }

    /** How the library has a key. */
    byte[] name(byte[] key) {
        return key;
    }

    /** How the library has a value. */
    byte[] content(byte[] value) {
        return value;
    }

    @Override
    byte[] find(byte[] key) {
        return db.get(name(key));
    }

    @Override
    boolean store(byte[] key, byte[] value) {
        return db.put(name(key), content(value));
    }

    @Override
    boolean keep(byte[] key, byte[] value) {
        return db.putkeep(name(key), content(value));
    }

    @Override
    boolean remove(byte[] key) {
        return db.out(name(key));
    }

    @Override
    double records() {
        return db.rnum();
    }

    @Override
    double fileBytes() {
        return db.fsiz();
    }
}
