package assay.worker;

import assay.driver.Bytes;
import java.util.Arrays;

/** Section 1.5: records with columns, in their encoded form. Immutable. */
final class RecordShape {
    static final int LENGTH_BYTES = 2;

    final Column[] columns;
    final int bytesMax;
    final int proof; // positions; -1: there is none
    final int counter;
    final int leadsBack;
    private final boolean hasStamps;

    RecordShape(Column[] columns) throws Refusal {
        this.columns = columns;
        int longest = 0, proofAt = -1, counterAt = -1, leads = -1, following = 0;
        for (int i = 0; i < columns.length; i++) {
            Column c = columns[i];
            longest += LENGTH_BYTES + c.bytesMax();
            following += c.follows() ? 1 : 0;
            if (c.source == Column.Source.PROOF) {
                if (proofAt >= 0)
                    throw Refusal.badRequest("define has a proof in several columns, at most one may have it");
                proofAt = i;
            }
            if (c.source == Column.Source.COUNTER) {
                if (counterAt >= 0)
                    throw Refusal.badRequest("define has several counters, at most one may be");
                counterAt = i;
            }
            if (leads < 0 && c.leadsBack())
                leads = i;
        }
        if (following > 0 && proofAt < 0)
            throw Refusal.badRequest("a stamp needs a proof column beside it, which says what write it is of");
        bytesMax = longest;
        proof = proofAt;
        counter = counterAt;
        leadsBack = leads;
        hasStamps = following > 1;
    }

    /** Writes a record from the array's start; returns its length. */
    int write(ValuePool pool, byte[] to, int at, long index, long version) {
        int from = at;
        for (Column column : columns) {
            int end = column.write(pool, to, at + LENGTH_BYTES, index, version), length = end - at - LENGTH_BYTES;
            to[at] = (byte) length;
            to[at + 1] = (byte) (length >>> 8);
            at = end;
        }
        return at - from;
    }

    /** Points at a column of a record. False: it is no record with so many columns. */
    static boolean column(Bytes record, int column, Bytes found) {
        int at = record.offset, end = record.offset + record.length;
        for (int i = 0; ; i++) {
            if (end - at < LENGTH_BYTES)
                return false;
            int length = record.data[at] & 0xff | (record.data[at + 1] & 0xff) << 8;
            at += LENGTH_BYTES;
            if (end - at < length)
                return false;
            if (i == column) {
                found.set(record.data, at, length);
                return true;
            }
            at += length;
        }
    }

    private boolean proofOf(Bytes record, Bytes found) {
        return proof >= 0 && column(record, proof, found);
    }

    /** The version that a record claims; 0: it has no proof. */
    long version(Bytes record, Bytes room) {
        return proofOf(record, room) ? ValuePool.version(room) : 0;
    }

    /** Is it a record of that index? scratch has room for the longest column. */
    boolean isRight(ValuePool pool, Bytes record, long index, byte[] scratch, Bytes room) {
        long version = hasStamps ? version(record, room) : 0;
        int at = record.offset, end = record.offset + record.length;
        for (Column column : columns) {
            if (end - at < LENGTH_BYTES)
                return false;
            int length = record.data[at] & 0xff | (record.data[at + 1] & 0xff) << 8;
            at += LENGTH_BYTES;
            if (end - at < length)
                return false;
            room.set(record.data, at, length);
            if (!isColumnRight(column, pool, room, index, version, scratch))
                return false;
            at += length;
        }
        return at == end;
    }

    private static boolean isColumnRight(Column column, ValuePool pool, Bytes bytes, long index, long version, byte[] scratch) {
        if (column.source == Column.Source.PROOF)
            return bytes.length == column.proofBytes && pool.isRight(bytes, index);
        if (column.source == Column.Source.COUNTER)
            return Column.isDecimal(bytes.data, bytes.offset, bytes.length);
        int length = column.write(pool, scratch, 0, index, version);
        return Arrays.equals(bytes.data, bytes.offset, bytes.offset + bytes.length, scratch, 0, length);
    }

    boolean isOfOtherTrial(ValuePool pool, Bytes record, long index, Bytes room) {
        return proofOf(record, room) && room.length == columns[proof].proofBytes && pool.isOfOtherTrial(room, index);
    }

    /** The index that the proof claims, or else that a sequence leads back to; -1: neither does. */
    long indexOf(Bytes record, Bytes room) {
        if (proof >= 0) {
            if (!column(record, proof, room) || room.length < ValuePool.STAMP_BYTES)
                return -1;
            long index = Words.get(room.data, room.offset);
            return Long.compareUnsigned(index, KeyShape.INDEX_MAX) <= 0 ? index : -1;
        }
        return leadsBack >= 0 && column(record, leadsBack, room) ? columns[leadsBack].indexOf(room) : -1;
    }

    /** The number of a record's counter; 0 where it has none. */
    long counted(Bytes record, Bytes room) {
        if (counter < 0 || !column(record, counter, room) || !Column.isDecimal(room.data, room.offset, room.length))
            return 0;
        return Long.parseLong(room.toText());
    }
}
