package assay.worker;

import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;

/** Words in byte arrays and in mapped files: little-endian, whatever the machine. */
final class Words {
    private static final VarHandle IN_ARRAY = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
    private static final VarHandle IN_ARRAY_BIG = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);
    private static final VarHandle HALF_IN_ARRAY = MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);
    private static final VarHandle IN_BUFFER = MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
    private static final int PAGE = 4096;

    private Words() {}

    static long get(byte[] data, int at) {
        return (long) IN_ARRAY.get(data, at);
    }

    static void put(byte[] data, int at, long word) {
        IN_ARRAY.set(data, at, word);
    }

    static void putBig(byte[] data, int at, long word) {
        IN_ARRAY_BIG.set(data, at, word);
    }

    static int getHalf(byte[] data, int at) {
        return (int) HALF_IN_ARRAY.get(data, at);
    }

    static void putHalf(byte[] data, int at, int half) {
        HALF_IN_ARRAY.set(data, at, half);
    }

    /** Writes the low bytes of a word: at most 8, up to end. */
    static void putPart(byte[] data, int at, int end, long word) {
        if (end - at >= 8) {
            put(data, at, word);
            return;
        }
        for (; at < end; at++, word >>>= 8)
            data[at] = (byte) word;
    }

    /** A word that another process may be writing. */
    static long load(ByteBuffer buffer, int at) {
        return (long) IN_BUFFER.getOpaque(buffer, at);
    }

    /** Stores a word that another process reads, behind all that was stored before. */
    static void store(ByteBuffer buffer, int at, long word) {
        IN_BUFFER.setRelease(buffer, at, word);
    }

    /** Maps a part of a file, and touches it, so that no page is made while operations are measured. */
    static ByteBuffer map(FileChannel file, boolean write, long at, long length) throws IOException {
        if (length > Integer.MAX_VALUE)
            throw new IOException("a part of " + length + " bytes is more than a buffer of Java holds");
        MappedByteBuffer buffer = file.map(write ? FileChannel.MapMode.READ_WRITE : FileChannel.MapMode.READ_ONLY, at, length);
        buffer.load();
        if (write)
            for (int i = 0; i < length; i += PAGE)
                buffer.put(i, buffer.get(i));
        return buffer.order(ByteOrder.LITTLE_ENDIAN);
    }
}
