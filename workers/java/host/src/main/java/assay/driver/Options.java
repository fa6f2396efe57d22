package assay.driver;

import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The values of a driver's options, checked against their types: the defaults where none was given. */
public final class Options {
    private static final Map<String, Double> BYTE_UNITS = Map.ofEntries(Map.entry("", 1.0), Map.entry("B", 1.0), Map.entry("KiB", 0x1p10),
            Map.entry("MiB", 0x1p20), Map.entry("GiB", 0x1p30), Map.entry("TiB", 0x1p40), Map.entry("kB", 1e3), Map.entry("KB", 1e3),
            Map.entry("MB", 1e6), Map.entry("GB", 1e9), Map.entry("TB", 1e12));
    private static final Map<String, Double> NS_UNITS =
            Map.of("ns", 1.0, "us", 1e3, "µs", 1e3, "ms", 1e6, "s", 1e9, "m", 6e10, "h", 3.6e12);
    private static final Pattern DECIMAL = Pattern.compile("([0-9]+(?:\\.[0-9]*)?|\\.[0-9]+) *([A-Za-z]*)");
    private static final Pattern DURATION = Pattern.compile("[+-]?(?:0|(?:(?:[0-9]+(?:\\.[0-9]*)?|\\.[0-9]+)(?:ns|us|µs|ms|s|m|h))+)");
    private static final Pattern DURATION_PART = Pattern.compile("([0-9.]+)([a-zµ]+)");

    private final Map<String, Option> declared;
    private final Map<String, String> given;

    /** Throws an IllegalArgumentException for an unknown option or a value that is not of its type. */
    public Options(Map<String, Option> declared, Map<String, String> given) {
        this.declared = declared;
        this.given = new HashMap<>(given);
        given.forEach((name, value) -> {
            Option option = declared.get(name);
            if (option == null)
                throw new IllegalArgumentException("unknown option \"" + name + "\"");
            if (!isValid(option, value))
                throw new IllegalArgumentException("option " + name + ": \"" + value + "\" is no " + option.type()
                        + (option.choices().isEmpty() ? "" : " of: " + String.join(" ", option.choices())));
        });
    }

    public String text(String name) {
        Option option = declared.get(name);
        if (option == null)
            throw new IllegalStateException("option " + name + " was read but not declared");
        return given.getOrDefault(name, option.byDefault());
    }

    public boolean bool(String name) {
        return Boolean.parseBoolean(text(name));
    }

    public int integer(String name) {
        return Math.toIntExact(Long.parseLong(text(name)));
    }

    /** A whole number for each of count endpoints, parted by commas; null where the option is empty. */
    public int[] integers(String name, int count) throws RefusedException {
        String text = text(name);
        if (text.isEmpty())
            return null;
        try {
            int[] all = Pattern.compile(",").splitAsStream(text).map(String::trim).mapToInt(Integer::parseInt).toArray();
            if (all.length == count && Arrays.stream(all).allMatch(each -> each > 0))
                return all;
        } catch (NumberFormatException e) {
            // said below
        }
        throw new RefusedException("option " + name + ": expected a whole number above 0 for each of " + count + " endpoints, such as 3,1,1, got \"" + text + "\"");
    }

    public long bytes(String name) {
        return parseBytes(text(name));
    }

    public long durationNs(String name) {
        return parseDuration(text(name));
    }

    private static boolean isValid(Option option, String value) {
        try {
            switch (option.type()) {
                case "bool":
                    return value.equals("true") || value.equals("false");
                case "int":
                    Long.parseLong(value);
                    return true;
                case "bytes":
                    parseBytes(value);
                    return true;
                case "duration":
                    parseDuration(value);
                    return true;
                case "choice":
                    return option.choices().contains(value);
                default:
                    return true;
            }
        } catch (NumberFormatException e) {
            return false;
        }
    }

    private static long parseBytes(String text) {
        Matcher m = DECIMAL.matcher(text);
        if (!m.matches() || !BYTE_UNITS.containsKey(m.group(2)))
            throw new NumberFormatException(text);
        double bytes = Double.parseDouble(m.group(1)) * BYTE_UNITS.get(m.group(2));
        if (bytes >= 0x1p62)
            throw new NumberFormatException(text);
        return (long) bytes;
    }

    private static long parseDuration(String text) {
        if (!DURATION.matcher(text).matches())
            throw new NumberFormatException(text);
        double ns = 0;
        for (Matcher m = DURATION_PART.matcher(text); m.find();)
            ns += Double.parseDouble(m.group(1)) * NS_UNITS.get(m.group(2));
        if (ns >= 9.2e18)
            throw new NumberFormatException(text);
        return (long) (text.startsWith("-") ? -ns : ns);
    }
}
