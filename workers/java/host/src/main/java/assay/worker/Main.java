package assay.worker;

import assay.driver.Driver;
import com.grack.nanojson.JsonWriter;
import java.io.ByteArrayOutputStream;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ServiceLoader;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

/**
 * Assay's worker for the JVM: docs/worker-contract.md, for the drivers on its class path.
 *
 * <p>Standard output belongs to the control channel: whatever a library prints goes to standard
 * error. A thread of its own reads the requests, so that a phase ends when the conductor goes away.
 */
public final class Main {
    private static final int LINE_BYTES_MAX = 16 << 20;
    private static final byte[] END = {};

    private Main() {}

    public static void main(String[] arguments) throws Exception {
        PrintStream channel = new PrintStream(new FileOutputStream(FileDescriptor.out), false, StandardCharsets.UTF_8);
        System.setOut(System.err);
        Telemetry.logCollections();
        Session session = new Session(ServiceLoader.load(Driver.class));
        BlockingQueue<byte[]> lines = new LinkedBlockingQueue<>();
        Thread reader = new Thread(() -> read(session, lines), "assay-control");
        reader.setDaemon(true);
        reader.start();
        for (byte[] line = lines.take(); line != END; line = lines.take()) {
            String text = decode(line);
            if (text != null && text.isBlank())
                continue;
            channel.write((JsonWriter.string(session.answer(text == null ? "" : text)) + "\n").getBytes(StandardCharsets.UTF_8));
            channel.flush();
            if (channel.checkError())
                break;
        }
        session.end();
        System.exit(0); // whatever threads a client left behind
    }

    private static String decode(byte[] line) {
        try {
            return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(line)).toString();
        } catch (CharacterCodingException e) {
            return null; // no JSON either
        }
    }

    private static void read(Session session, BlockingQueue<byte[]> lines) {
        try (InputStream input = new FileInputStream(FileDescriptor.in)) {
            ByteArrayOutputStream line = new ByteArrayOutputStream();
            byte[] part = new byte[64 << 10];
            for (int n = input.read(part); n >= 0; n = input.read(part)) {
                for (int i = 0, from = 0; i <= n; i++) {
                    if (i < n && part[i] != '\n')
                        continue;
                    line.write(part, from, i - from);
                    from = i + 1;
                    if (line.size() > LINE_BYTES_MAX)
                        throw new IOException("a control message is longer than 16 MiB");
                    if (i < n) {
                        lines.add(line.toByteArray());
                        line.reset();
                    }
                }
            }
            if (line.size() > 0)
                lines.add(line.toByteArray());
        } catch (IOException e) {
            System.err.println("worker: reading a request: " + e.getMessage());
        }
        session.abandon();
        lines.add(END);
    }
}
