package assay.driver;

/** The store can't do what was asked for, and nothing was changed. */
public final class RefusedException extends Exception {
    private static final long serialVersionUID = 1;

    public RefusedException(String message) {
        super(message);
    }
}
