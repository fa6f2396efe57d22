package assay.worker;

import assay.driver.Bytes;

/** Section 1.4: is a value that was read one that was written there? Each thread has one. */
final class Checker {
    static final String OTHER_TRIAL = "a value of another trial";

    private final Phase phase;
    private final Phase[] phases;
    private final RecordShape record;
    private final ValuePool pool;
    private final Bytes room = new Bytes();
    private final byte[] scratch; // of a record: the longest column
    private final Bytes sample; // of the null driver: stands for what a store would return; else null

    Checker(Phase phase, Phase[] phases, boolean storesNothing) {
        this.phase = phase;
        this.phases = phases;
        record = phase.record;
        pool = phase.pool;
        scratch = new byte[record == null ? 0 : Column.COLUMN_BYTES_MAX + 8];
        sample = storesNothing ? sample() : null;
    }

    private Bytes sample() {
        Bytes made = new Bytes(phase.valueBytesMax + 8);
        made.length = phase.valueBytesMax;
        if (record != null)
            made.length = record.write(pool, made.data, 0, 0, 0);
        else
            pool.write(made.data, 0, made.length, 0, 0);
        return made;
    }

    /** Steps 1 and 2. */
    private boolean isRight(Bytes value, long index) {
        return record != null ? record.isRight(pool, value, index, scratch, room) : pool.isRight(value, index);
    }

    private boolean isOfOtherTrial(Bytes value, long index) {
        return record != null ? record.isOfOtherTrial(pool, value, index, room) : pool.isOfOtherTrial(value, index);
    }

    private boolean provesVersion(Bytes value) {
        return record != null ? record.proof >= 0 : value.length >= ValuePool.STAMP_BYTES;
    }

    private long version(Bytes value) {
        return record != null ? record.version(value, room) : ValuePool.version(value);
    }

    /** The index that a value claims; -1: it claims none. */
    private long claimed(Bytes value) {
        if (record != null)
            return record.indexOf(value, room);
        return value.length >= ValuePool.STAMP_BYTES ? Words.get(value.data, value.offset) : -1;
    }

    /** Why a value is not right; null where it is, or need not be checked. */
    String problem(Bytes value, long index) {
        if (!phase.verify)
            return null;
        if (sample != null) { // the work of checking, without the question: the null driver has no value that could be wrong
            isRight(sample, 0);
            return null;
        }
        return check(value, index);
    }

    private String check(Bytes value, long index) {
        if (!isRight(value, index))
            return whyWrong(value, index);
        if (!provesVersion(value))
            return null;
        long version = version(value);
        if (version == 0)
            return Long.compareUnsigned(index, phase.loadedRecords) < 0 ? null : "a loaded value for a record that was never loaded";
        Phase writer = phases[(int) (version >>> 56)];
        int thread = (int) (version >>> 40) & 0xffff, length = record != null ? -1 : value.length;
        if (writer == null || !writer.trace.wrote(thread, version & (1L << 40) - 1, index, length))
            return "a value with a right checksum that no operation of this trial wrote";
        return null;
    }

    /** The messages leave numbers out, so that they count up. */
    private String whyWrong(Bytes value, long index) {
        if (isOfOtherTrial(value, index))
            return OTHER_TRIAL;
        if (record == null && value.length < ValuePool.STAMP_BYTES)
            return "a short value that is not this record's";
        long claimed = claimed(value);
        if (claimed == index)
            return "the record's own value, damaged: its checksum or body is wrong";
        if (claimed >= 0 && isRight(value, claimed))
            return "another record's value";
        return "bytes that are no value of this trial";
    }

    /** The word of section 5 for a value that was read. */
    long observe(Bytes value, long index) {
        if (!isRight(value, index))
            return isOfOtherTrial(value, index) ? Counters.OBSERVED_FOREIGN : Counters.OBSERVED_WRONG;
        return provesVersion(value) ? version(value) : Counters.OBSERVED_SHORT;
    }

    /** The counter of a record that is right. */
    long counted(Bytes value) {
        return record == null ? 0 : record.counted(value, room);
    }

    /** Why a scanned value is not its key's, or null. key has room for the key that it claims to have. */
    /** Returns the index that a scanned record claims, if it claims one, or FindState.UNKNOWN. */
    long scannedIndex(Bytes value) {
        boolean claims = record == null ? value.length >= ValuePool.STAMP_BYTES : record.proof >= 0;
        return claims ? claimed(value) : FindState.UNKNOWN;
    }

    String scannedProblem(Bytes key, Bytes value, byte[] expected) {
        if (record == null ? value.length < ValuePool.STAMP_BYTES : record.proof < 0)
            return null; // it claims no index
        long index = claimed(value);
        if (index < 0 || index > KeyShape.INDEX_MAX)
            return "a scanned value that is not its key's";
        int length = phase.keys.write(index, expected);
        if (!java.util.Arrays.equals(key.data, key.offset, key.offset + key.length, expected, 0, length))
            return "a scanned value that is not its key's";
        return check(value, index);
    }
}
