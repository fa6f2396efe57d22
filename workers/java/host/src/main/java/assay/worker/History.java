package assay.worker;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** Section 3.5: the history file. */
final class History {
    static final int HEADER_BYTES = 4096;
    static final int HEAD_BYTES = 128;
    static final int RECORD_BYTES = 32;
    private static final int FORMAT_VERSION = 2;
    private static final long MAGIC = 0x5349485941535341L; // "ASSAYHIS"

    final int each; // records that a thread's area has room for
    final ByteBuffer[] thread;

    static History map(String path, int threads) throws Refusal {
        try (FileChannel file = FileChannel.open(Path.of(path), StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            return new History(file, threads);
        } catch (IOException e) {
            throw Refusal.badRequest("opening the history file: %s", Messages.of(e));
        }
    }

    private History(FileChannel file, int threads) throws IOException, Refusal {
        if (file.size() < HEADER_BYTES)
            throw Refusal.badRequest("the history file is too short");
        ByteBuffer header = Words.map(file, false, 0, HEADER_BYTES);
        if (header.getLong(0) != MAGIC)
            throw Refusal.badRequest("not a history file: it does not begin with ASSAYHIS");
        if (header.getInt(8) != FORMAT_VERSION || header.getInt(12) != HEADER_BYTES || header.getInt(20) != RECORD_BYTES)
            throw Refusal.badRequest("a history file of another format than version %d", FORMAT_VERSION);
        if (header.getInt(16) != threads)
            throw Refusal.badRequest("a history file of %d threads for a trace of %d", header.getInt(16), threads);
        long records = header.getLong(24);
        if (records < 1 || records % 4 != 0 || records > file.size() || header.getLong(32) != file.size()
                || threadAt(threads, records) != file.size())
            throw Refusal.badRequest("the history file's length is not what its header says: it is cut short or damaged");
        each = (int) records;
        thread = new ByteBuffer[threads];
        for (int i = 0; i < threads; i++)
            thread[i] = Words.map(file, true, threadAt(i, records), threadAt(1, records) - HEADER_BYTES);
    }

    static long threadAt(int number, long records) {
        return HEADER_BYTES + number * (HEAD_BYTES + records * RECORD_BYTES);
    }

    /**
     * Adds a record. Once an area is full nothing more is recorded: a history with holes would accuse a
     * store of what is not in it.
     */
    void append(int number, long beginNs, long endNs, long what, long read) {
        ByteBuffer area = thread[number];
        long n = area.getLong(0), dropped = area.getLong(8);
        if (n == each || dropped > 0) {
            area.putLong(8, dropped + 1);
            return;
        }
        putRecord(area, HEAD_BYTES + (int) n * RECORD_BYTES, beginNs, endNs, what, read);
        Words.store(area, 0, n + 1); // last: a reader that sees the count sees the record
    }

    private static void putRecord(ByteBuffer area, int at, long beginNs, long endNs, long what, long read) {
        area.putLong(at, beginNs);
        area.putLong(at + 8, endNs);
        area.putLong(at + 16, what);
        area.putLong(at + 24, read);
    }

    /** Adds a find: its record, and behind it the first so many words, up to a whole record. */
    void appendFind(int number, long beginNs, long endNs, long what, long read, long[] words, int count) {
        ByteBuffer area = thread[number];
        long n = area.getLong(0), dropped = area.getLong(8), rows = 1 + (count + 3) / 4;
        if (n + rows > each || dropped > 0) {
            area.putLong(8, dropped + 1);
            return;
        }
        int at = HEAD_BYTES + (int) n * RECORD_BYTES;
        putRecord(area, at, beginNs, endNs, what, read);
        for (int i = 0; i < 4 * (rows - 1); i++)
            area.putLong(at + RECORD_BYTES + 8 * i, i < count ? words[i] : 0);
        Words.store(area, 0, n + rows);
    }
}
