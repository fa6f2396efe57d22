package assay.driver;

/** How a call of the store ended, where it did not throw. */
public enum Status {
    OK,
    /** The key is not there. */
    MISS,
    /** The store refused a write because of another one; nothing was written. */
    CONFLICT
}
