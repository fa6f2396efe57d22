package assay.drivers;

import assay.driver.Option;
import assay.driver.Options;
import assay.driver.RefusedException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** Whom a client logs in as; two empty texts, for no login, where the option names no file. */
public final class Credentials {
    public static final Option OPTION = Option.of("credentials_file", "string", "", "file whose first line is USER:PASSWORD to log in with");

    public final String user;
    public final String password;

    public Credentials(Options options) throws RefusedException {
        String login = read(options.text(OPTION.name()));
        int parts = login.indexOf(':');
        user = parts <= 0 ? "" : login.substring(0, parts);
        password = login.substring(parts + 1);
    }

    /** SASL is of memcached's binary protocol alone. */
    public Credentials needBinary(Options options) throws RefusedException {
        if (!user.isEmpty() && !options.text("protocol").equals("binary"))
            throw new RefusedException("memcached takes a login by SASL over its binary protocol alone: set protocol: binary");
        return this;
    }

    private static String read(String file) throws RefusedException {
        if (file.isEmpty())
            return "";
        try {
            List<String> lines = Files.readAllLines(Path.of(file));
            if (!lines.isEmpty() && lines.get(0).contains(":"))
                return lines.get(0);
        } catch (IOException e) {
            throw new RefusedException("reading credentials_file: " + e.getMessage());
        }
        throw new RefusedException(file + " has no USER:PASSWORD in its first line");
    }
}
