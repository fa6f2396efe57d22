package assay.drivers;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;

/**
 * Native libraries that a binding unpacks from its jar into the folder for temporary files. It has them
 * deleted when the JVM exits, so that one that is killed leaves tens of megabytes each time. Once it is
 * mapped, a library needs no file.
 */
public final class UnpackedLibraries {
    private UnpackedLibraries() {}

    /** Deletes the files of libraries that this process has mapped from that folder and that are not older than it. */
    public static void remove() {
        Path folder = Path.of(System.getProperty("java.io.tmpdir"));
        long started = ManagementFactory.getRuntimeMXBean().getStartTime();
        try {
            for (String line : Files.readAllLines(Path.of("/proc/self/maps"))) {
                int at = line.indexOf('/');
                Path file = at < 0 || line.endsWith(" (deleted)") ? null : Path.of(line.substring(at));
                if (file == null || !file.startsWith(folder) || !file.toString().endsWith(".so") || Files.notExists(file))
                    continue;
                if (Files.getLastModifiedTime(file).toMillis() >= started)
                    remove(file, folder);
            }
        } catch (IOException e) {
            System.err.println("worker: deleting a native library that was unpacked: " + e.getMessage());
        }
    }

    /** Deletes a library; where it has a folder of its own, with what stands beside it there. */
    private static void remove(Path library, Path folder) throws IOException {
        Path parent = library.getParent();
        if (parent.equals(folder)) {
            Files.delete(library);
            return;
        }
        try (Stream<Path> files = Files.list(parent)) {
            for (Path each : files.filter(file -> file.getFileName().toString().startsWith(library.getFileName().toString())).toList())
                Files.delete(each);
        }
        try {
            Files.delete(parent);
        } catch (DirectoryNotEmptyException e) {
            // it is not the library's own
        }
    }
}
