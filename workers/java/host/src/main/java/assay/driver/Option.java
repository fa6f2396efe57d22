package assay.driver;

import java.util.List;

/** An option of a driver. type is bool, int, bytes, duration, choice or string. */
public record Option(String name, String type, String byDefault, String help, List<String> choices) {
    public static Option of(String name, String type, String byDefault, String help) {
        return new Option(name, type, byDefault, help, List.of());
    }

    public static Option choice(String name, String byDefault, String help, String... choices) {
        return new Option(name, "choice", byDefault, help, List.of(choices));
    }
}
