package assay.drivers;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** The folder of a store's files. */
public final class Directory {
    private Directory() {}

    /** Makes the files that were made in it survive a power cut: an engine that syncs a file need not have synced its name. */
    public static void sync(String path) throws IOException {
        try (FileChannel folder = FileChannel.open(Path.of(path), StandardOpenOption.READ)) {
            folder.force(true);
        }
    }
}
