package assay.driver;

import java.net.URI;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * What a driver says of itself: the fields of a driver in section 4 of docs/worker-contract.md,
 * under the same names. Abilities are not among them: they follow from the handle's type.
 */
public final class Description {
    private final Map<String, Object> fields = new LinkedHashMap<>();
    private final Map<String, String> durability = new LinkedHashMap<>();
    private final Map<String, Option> options = new LinkedHashMap<>();

    /** kind is embedded, memory, server or none; summary is half a line. */
    public Description(String name, String kind, String summary) {
        set("name", name);
        set("kind", kind);
        set("summary", summary);
        set("handles_shareable", false);
        set("library", "");
        set("version", "");
        set("licence", "NONE");
    }

    /**
     * library is group:artifact, as in Maven; its version is that of the jar that has the class of
     * the library; licence is an SPDX identifier.
     */
    public Description library(String library, Class<?> ofLibrary, String licence) {
        return set("library", library).set("version", versionOf(library, ofLibrary)).set("licence", licence);
    }

    /** The jar's name without the artifact's and its end: what Maven named, or whoever built it. */
    private static String versionOf(String library, Class<?> ofLibrary) {
        String jar = Path.of(URI.create(ofLibrary.getProtectionDomain().getCodeSource().getLocation().toString())).getFileName().toString();
        String artifact = library.substring(library.indexOf(':') + 1) + "-";
        String version = jar.startsWith(artifact) ? jar.substring(artifact.length()) : jar;
        return version.endsWith(".jar") ? version.substring(0, version.length() - ".jar".length()) : version;
    }

    /** Claims a durability class, the weakest first, and says how it is reached. */
    public Description durability(String durabilityClass, String how) {
        durability.put(durabilityClass, how);
        return this;
    }

    public Description option(Option option) {
        options.put(option.name(), option);
        return this;
    }

    /** Sets any other field by its name in the contract, to a text, a boolean or an Integer. */
    public Description set(String field, Object value) {
        fields.put(field, value);
        return this;
    }

    public String text(String field) {
        return (String) fields.get(field);
    }

    public int number(String field) {
        return (Integer) fields.getOrDefault(field, 0);
    }

    public boolean is(String field) {
        return (Boolean) fields.getOrDefault(field, false);
    }

    public Map<String, Object> fields() {
        return fields;
    }

    public Map<String, String> durability() {
        return durability;
    }

    public Map<String, Option> options() {
        return options;
    }
}
