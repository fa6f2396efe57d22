package assay.worker;

import java.io.IOException;
import java.io.InputStream;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.DigestInputStream;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** What the JVM was started with: its options, and the jars of its class path with their checksums. */
final class Jvm {
    static final Map<String, String> SETTINGS = settings();

    private Jvm() {}

    private static Map<String, String> settings() {
        Map<String, String> all = new TreeMap<>();
        all.put("jvm", System.getProperty("java.vm.name") + " " + System.getProperty("java.vm.version"));
        all.put("jvm.options", String.join(" ", ManagementFactory.getRuntimeMXBean().getInputArguments()));
        all.put("jvm.heap_max", Long.toString(Runtime.getRuntime().maxMemory()));
        all.put("jvm.collectors", ManagementFactory.getGarbageCollectorMXBeans().stream().map(GarbageCollectorMXBean::getName)
                .collect(Collectors.joining(", ")));
        for (String place : System.getProperty("java.class.path").split(java.io.File.pathSeparator)) {
            Path path = Path.of(place);
            if (Files.isRegularFile(path))
                all.put("jar." + path.getFileName(), "sha256 " + digest(path));
        }
        return all;
    }

    private static String digest(Path path) {
        try (InputStream input = new DigestInputStream(Files.newInputStream(path), MessageDigest.getInstance("SHA-256"))) {
            input.transferTo(java.io.OutputStream.nullOutputStream());
            return HexFormat.of().formatHex(((DigestInputStream) input).getMessageDigest().digest());
        } catch (IOException | NoSuchAlgorithmException e) {
            throw new IllegalStateException("reading " + path, e);
        }
    }
}
