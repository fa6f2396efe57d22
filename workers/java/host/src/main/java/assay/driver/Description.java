package assay.driver;

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

    /** library is group:artifact, as in Maven; licence is an SPDX identifier. */
    public Description library(String library, String version, String licence) {
        return set("library", library).set("version", version).set("licence", licence);
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
